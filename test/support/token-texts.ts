import { createHash } from "node:crypto";

/** A text of each kind that a session holds, the same on every call. The counts of real tokenizers are recorded for each. */
export interface TokenText {
  /** An estimate of prose and code must not be much too high either. */
  group: "prose" | "code" | "data";
  text: string;
}

const bytes = (seed: string, size: number): Buffer => {
  const blocks = Array.from({ length: Math.ceil(size / 32) }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, size);
};
const hex = (seed: string, chars: number): string =>
  bytes(seed, Math.ceil(chars / 2))
    .toString("hex")
    .slice(0, chars);
const uuid = (seed: string): string => hex(seed, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
const number = (seed: string, max: number): number => bytes(seed, 4).readUInt32LE() % max;
const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

const PROSE: Record<string, string> = {
  english: `The ferry to the northern islands left an hour late, because the harbor master wanted to see the storm warning himself before he let anyone go. Nobody complained. Marta had brought a thermos of coffee and shared it with the two engineers who were going to repair the radio mast. "We were here in March," one of them said, "and it didn't look good even then. The bolts are rusted through, and somebody has painted over the cracks." She asked whether they would have to replace all of it. He shrugged. They'd know by the evening, provided the crane worked, which it usually doesn't in wet weather.`,
  instructions: `Before you change the retry logic, please read the notes in the wiki. We decided last spring that a failed upload is tried three times, with a growing delay, and that the user sees a message only after the last attempt. The reason was simple: most failures are short network errors, and people stopped trusting the status bar when it flickered. If you think this is wrong, say so and explain why. Otherwise add a test for the case in which the connection drops between two chunks, make it pass, and leave the public interface as it is. I would also like a short summary of what you did, not longer than five sentences.`,
  german: `Die Werkstatt liegt am Ende einer schmalen Straße, direkt hinter dem alten Bahnhof. Jeden Morgen um sechs öffnet Frau Lindner das Tor, schaltet die Heizung ein und prüft, welche Aufträge über Nacht gekommen sind. Meistens geht es um Fahrräder, manchmal um Nähmaschinen, und einmal brachte jemand eine Kirchturmuhr. Sie sagt, dass man alles reparieren kann, wenn man genug Geduld hat und die richtigen Schrauben findet.`,
  french: `Le village se trouve au fond d'une vallée étroite, à une heure de route de la première gare. En hiver, la neige coupe parfois le chemin pendant plusieurs jours, et les habitants ont l'habitude de garder des provisions. L'été dernier, on a rouvert l'école, parce que trois familles se sont installées dans les maisons vides. Le maire espère que d'autres suivront, mais il sait aussi qu'il faudra réparer le pont avant l'automne.`,
  spanish: `La biblioteca abre a las nueve, pero los estudiantes empiezan a llegar mucho antes. Se sientan en la escalera, comparten el desayuno y hablan de los exámenes. La directora quiere comprar más ordenadores, porque los que hay son lentos y casi siempre están ocupados. El ayuntamiento prometió el dinero hace dos años, y todavía no ha llegado nada. Mientras tanto, los voluntarios arreglan lo que pueden con piezas viejas.`,
  polish: `Pociąg do Gdańska odjeżdża z trzeciego peronu, ale dzisiaj jest opóźniony o czterdzieści minut. Pasażerowie czekają w małej kawiarni i narzekają na pogodę. Starszy pan opowiada, że kiedyś na tej trasie jeździły parowozy, a podróż trwała cały dzień. Jego wnuczka nie wierzy, dopóki nie pokazuje jej starego zdjęcia z albumu.`,
  turkish: `Pazar günleri sahildeki küçük lokanta çok kalabalık olur. Balıkçılar sabah erkenden gelir, taze balıkları mutfağa bırakır ve çaylarını içerler. Sahibi yıllardır aynı masada oturur, hesapları elle yazar ve hiç kimseyi aç göndermez. Geçen ay çatısı fırtınada zarar gördü, ama komşular iki günde onardılar.`,
  vietnamese: `Buổi sáng ở chợ nổi bắt đầu từ rất sớm, khi trời còn tối. Những chiếc thuyền chở đầy trái cây, rau và hoa từ các làng bên sông. Người bán treo hàng lên một cây sào cao để khách nhìn thấy từ xa. Bà ngoại tôi nói rằng ngày xưa chợ đông hơn nhiều, nhưng bây giờ có đường mới nên nhiều người đi xe tải.`,
  russian: `Вчера вечером мы наконец запустили новую версию сервера, и почти сразу заметили, что некоторые запросы выполняются слишком долго. Оказалось, что индекс в базе данных не был создан, потому что миграция остановилась на середине. Алексей исправил ошибку за полчаса, но нам пришлось ещё раз проверить все таблицы. Завтра нужно написать короткий отчёт и договориться о том, кто будет следить за ночными обновлениями.`,
  ukrainian: `Учора ввечері ми нарешті запустили нову версію сервера і майже відразу помітили, що деякі запити виконуються надто довго. Виявилося, що індекс у базі даних не було створено, бо міграція зупинилася посередині. Олексій виправив помилку за пів години, але нам довелося ще раз перевірити всі таблиці.`,
  greek: `Το παλιό εργοστάσιο στην άκρη της πόλης θα γίνει μουσείο. Οι εργάτες άρχισαν να καθαρίζουν τα κτίρια την περασμένη εβδομάδα και βρήκαν μηχανές που κανείς δεν θυμόταν. Ο δήμαρχος υποσχέθηκε ότι τα παιδιά θα μπαίνουν δωρεάν και ότι το καφενείο θα ανοίγει κάθε απόγευμα. Πολλοί κάτοικοι έφεραν φωτογραφίες από τα χρόνια που δούλευαν εκεί.`,
  hebrew: `אתמול בערב הפעלנו סוף סוף את הגרסה החדשה של השרת, וכמעט מיד שמנו לב שחלק מהבקשות נמשכות יותר מדי זמן. התברר שהאינדקס במסד הנתונים לא נוצר, כי ההעברה נעצרה באמצע. דנה תיקנה את התקלה תוך חצי שעה, אבל נאלצנו לבדוק שוב את כל הטבלאות.`,
  arabic: `في مساء أمس شغلنا أخيرا النسخة الجديدة من الخادم، ولاحظنا على الفور تقريبا أن بعض الطلبات تستغرق وقتا طويلا. تبين أن الفهرس في قاعدة البيانات لم ينشأ، لأن عملية الترحيل توقفت في المنتصف. أصلحت ليلى الخطأ خلال نصف ساعة، لكننا اضطررنا إلى فحص جميع الجداول مرة أخرى.`,
  hindi: `कल शाम हमने आखिरकार सर्वर का नया संस्करण चालू किया और लगभग तुरंत देखा कि कुछ अनुरोध बहुत देर तक चलते हैं। पता चला कि डेटाबेस में सूचकांक बना ही नहीं था, क्योंकि बदलाव बीच में रुक गया था। मीरा ने आधे घंटे में गलती ठीक कर दी, लेकिन हमें सभी तालिकाएँ फिर से जाँचनी पड़ीं।`,
  bengali: `গতকাল সন্ধ্যায় আমরা অবশেষে সার্ভারের নতুন সংস্করণ চালু করেছি এবং প্রায় সঙ্গে সঙ্গেই দেখেছি যে কিছু অনুরোধে অনেক সময় লাগছে। জানা গেল, ডেটাবেসে সূচি তৈরি হয়নি, কারণ স্থানান্তর মাঝপথে থেমে গিয়েছিল।`,
  tamil: `நேற்று மாலை நாங்கள் சேவையகத்தின் புதிய பதிப்பை இயக்கினோம். சில கோரிக்கைகள் மிகவும் நேரம் எடுப்பதை உடனே கவனித்தோம். தரவுத்தளத்தில் குறியீடு உருவாக்கப்படவில்லை என்பது தெரிந்தது.`,
  thai: `เมื่อคืนนี้เราเปิดใช้งานเซิร์ฟเวอร์รุ่นใหม่ และสังเกตเห็นเกือบจะทันทีว่าคำขอบางรายการใช้เวลานานเกินไป ปรากฏว่าดัชนีในฐานข้อมูลไม่ได้ถูกสร้าง เพราะการย้ายข้อมูลหยุดกลางคัน สมชายแก้ไขข้อผิดพลาดภายในครึ่งชั่วโมง แต่เราต้องตรวจสอบตารางทั้งหมดอีกครั้ง`,
  chinese: `昨天晚上我们终于上线了新版本的服务器，几乎马上就发现有些请求花的时间太长。原来数据库里的索引没有建立，因为迁移在中途停止了。小林用半个小时修好了错误，但是我们不得不把所有的表再检查一遍。明天还要写一份简短的报告，并且商量由谁来负责夜间的更新。`,
  traditional: `昨天晚上我們終於上線了新版本的伺服器，幾乎馬上就發現有些請求花的時間太長。原來資料庫裡的索引沒有建立，因為遷移在中途停止了。小林用半個小時修好了錯誤，但是我們不得不把所有的表再檢查一遍。`,
  japanese: `昨日の夜、ようやく新しいバージョンのサーバーを公開したところ、一部のリクエストに時間がかかりすぎることにすぐ気づきました。移行の途中で処理が止まり、データベースの索引が作られていなかったのです。田中さんが三十分で直してくれましたが、すべてのテーブルをもう一度確認しなければなりませんでした。`,
  korean: `어젯밤에 드디어 새 버전의 서버를 공개했는데, 일부 요청이 너무 오래 걸린다는 것을 거의 바로 알아차렸습니다. 마이그레이션이 중간에 멈춰서 데이터베이스에 색인이 만들어지지 않았던 것입니다. 민수가 삼십 분 만에 오류를 고쳤지만 모든 테이블을 다시 확인해야 했습니다.`,
};

const CODE: Record<string, string> = {
  typescript: `import { readFile } from "node:fs/promises";

export interface Reading {
  sensorId: string;
  celsius: number;
  takenAt: Date;
}

/** Returns the newest reading of each sensor. */
export async function newestReadings(path: string, limit = 100): Promise<Map<string, Reading>> {
  const newest = new Map<string, Reading>();
  for (const line of (await readFile(path, "utf8")).split("\\n").slice(0, limit)) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [sensorId, celsius, takenAt] = line.split(";");
    const reading = { sensorId: sensorId!, celsius: Number(celsius), takenAt: new Date(takenAt!) };
    const known = newest.get(reading.sensorId);
    if (known === undefined || known.takenAt < reading.takenAt) newest.set(reading.sensorId, reading);
  }
  return newest;
}
`,
  python: `from dataclasses import dataclass, field


@dataclass
class Inventory:
    """Keeps track of how many parts of each kind are left."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, part_name: str, amount: int = 1) -> None:
        if amount <= 0:
            raise ValueError(f"amount must be positive, got {amount}")
        self.counts[part_name] = self.counts.get(part_name, 0) + amount

    def take(self, part_name: str, amount: int = 1) -> bool:
        left = self.counts.get(part_name, 0)
        if left < amount:
            return False
        self.counts[part_name] = left - amount
        return True


if __name__ == "__main__":
    inventory = Inventory()
    inventory.add("bolt", 12)
    print(inventory.take("bolt", 5), inventory.counts)
`,
  rust: `use std::collections::HashMap;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Opened { id: u64, name: String },
    Closed(u64),
}

impl Event {
    pub fn id(&self) -> u64 {
        match self {
            Event::Opened { id, .. } => *id,
            Event::Closed(id) => *id,
        }
    }
}

pub fn still_open(events: &[Event]) -> Vec<&str> {
    let mut open: HashMap<u64, &str> = HashMap::new();
    for event in events {
        match event {
            Event::Opened { id, name } => { open.insert(*id, name.as_str()); }
            Event::Closed(id) => { open.remove(id); }
        }
    }
    let mut names: Vec<&str> = open.into_values().collect();
    names.sort_unstable();
    names
}
`,
  go: `package queue

import (
	"context"
	"errors"
	"sync"
)

var ErrClosed = errors.New("queue is closed")

type Queue struct {
	mu     sync.Mutex
	items  []string
	closed bool
}

func (q *Queue) Push(ctx context.Context, item string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		q.items = append(q.items, item)
		return nil
	}
}
`,
  sql: `CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE CASCADE,
  total_cents INTEGER NOT NULL CHECK (total_cents >= 0),
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);

SELECT c.name, count(*) AS order_count, sum(o.total_cents) / 100.0 AS total
FROM orders o
JOIN customers c ON c.id = o.customer_id
WHERE o.created_at >= date('now', '-30 days')
GROUP BY c.id
HAVING order_count > 3
ORDER BY total DESC
LIMIT 20;
`,
  shell: `#!/usr/bin/env bash
set -euo pipefail

backup_dir="\${1:-/var/backups}"
stamp=$(date +%Y-%m-%d)
mkdir -p "$backup_dir"
for name in $(ls /srv/data | grep -v tmp); do
  tar -czf "$backup_dir/$name-$stamp.tar.gz" -C /srv/data "$name" || { echo "failed: $name" >&2; exit 1; }
done
find "$backup_dir" -name '*.tar.gz' -mtime +14 -delete
`,
  html: `<section class="card" id="profile">
  <h2>Your profile</h2>
  <form action="/profile" method="post">
    <label for="name">Name</label>
    <input id="name" name="name" type="text" required maxlength="80" />
    <button type="submit" class="primary">Save</button>
  </form>
</section>
<style>
  .card { display: flex; flex-direction: column; gap: 12px; padding: 16px 24px; border-radius: 8px; }
  .card .primary { background: #2f6fed; color: white; font-weight: 600; }
</style>
`,
};

const RARE_NAMES =
  "ሰላማዊት ተስፋዬ, ᏣᎳᎩ ᎠᏰᎵ, བསྟན་འཛིན་རྒྱ་མཚོ, ສົມພອນ ວົງສາ, သီရိအောင်, ꦱꦸꦫꦏꦂꦠ, ᠮᠣᠩᠭᠣᠯ, ދިވެހި, ⵜⴰⵎⴰⵣⵉⵖⵜ, 𐌲𐌿𐍄𐌹𐍃𐌺, 𓂀𓅓, Ħal Għargħur, Þórgunnur, Nguyễn Thị Ngọc Ánh, 龘靐齉爩, გიორგი მელაძე, Արմեն Սարգսյան, ਗੁਰਪ੍ਰੀਤ, ગુજરાતી, ಕನ್ನಡ, മലയാളം, සිංහල, తెలుగు";

const DATA: Record<string, () => string> = {
  hex: () => hex("hex", 2_000),
  "hex in capitals": () => hex("capitals", 2_000).toUpperCase(),
  "hex dump": () =>
    lines(60, (row) => `${(row * 16).toString(16).padStart(8, "0")}  ${hex(`dump ${row}`, 32).replace(/../g, "$& ")}`),
  base64: () => bytes("base64", 2_000).toString("base64"),
  "signed URL": () =>
    `https://files.example.org/o/report.pdf?signature=${bytes("url", 600).toString("base64url")}&expires=1790003121`,
  "web token": () =>
    `eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.${bytes("claims", 300).toString("base64url")}.${bytes("sign", 256).toString("base64url")}`,
  uuids: () => lines(60, (row) => uuid(`uuid ${row}`)),
  ids: () => lines(60, (row) => `toolu_01${bytes(`id ${row}`, 16).toString("base64url").replace(/[-_]/g, "x")}`),
  "git log of hashes": () => lines(60, (row) => hex(`commit ${row}`, 40)),
  "git log": () =>
    lines(
      30,
      (row) =>
        `commit ${hex(`commit ${row}`, 40)}\nAuthor: Ada Berg <ada@example.org>\nDate:   Mon Mar ${1 + (row % 28)} 1${row % 9}:0${row % 7}:3${row % 10} 2026 +0100\n\n    Fix the lamp driver, step ${row}\n`,
    ),
  "lock file": () =>
    lines(
      25,
      (row) =>
        `    "node_modules/lamp-${row}": {\n      "version": "${row}.2.${row * 3}",\n      "resolved": "https://registry.example.org/lamp-${row}/-/lamp-${row}-${row}.2.${row * 3}.tgz",\n      "integrity": "sha512-${bytes(`lock ${row}`, 64).toString("base64")}",\n      "license": "MIT"\n    },`,
    ),
  "minified JavaScript": () =>
    lines(
      12,
      (row) =>
        `function ${"abcdefghijkl"[row]}(e,t,n){var r=e.length,o=0;for(;o<r;o++){if(t[o]!==n)return{i:o,v:e[o]??null};e[o]^=t[r-o-1]>>>${row}}return!0}const _${row}=(e,t)=>Object.assign({},e,{[t]:e[t]?.map(n=>n*${row}+1).filter(Boolean)});`,
    ).replaceAll("\n", ""),
  JSON: () =>
    JSON.stringify(
      Array.from({ length: 40 }, (_, row) => ({
        id: row,
        name: `sensor ${row}`,
        at: 1_790_000_000_000 + row * 977,
        value: number(`json ${row}`, 10_000) / 37,
        ok: row % 3 > 0,
        tags: ["roof", "north"],
      })),
    ),
  "indented JSON": () =>
    JSON.stringify(
      Array.from({ length: 15 }, (_, row) => ({
        id: row,
        owner: { name: "Ada", email: `ada${row}@example.org` },
        path: `/srv/data/${row}/readings.csv`,
      })),
      null,
      2,
    ),
  "numbers as CSV": () =>
    lines(60, (row) =>
      Array.from({ length: 6 }, (_, column) =>
        (number(`csv ${row} ${column}`, 1_000_000) / 1_000).toFixed(column % 4),
      ).join(","),
    ),
  diff: () =>
    lines(
      10,
      (row) =>
        `diff --git a/src/lamp${row}.ts b/src/lamp${row}.ts\nindex ${hex(`old ${row}`, 7)}..${hex(`new ${row}`, 7)} 100644\n--- a/src/lamp${row}.ts\n+++ b/src/lamp${row}.ts\n@@ -${row + 10},7 +${row + 10},9 @@ export class Lamp {\n   readonly #pin: number;\n-  constructor(pin: number) {\n+  constructor(pin: number, isDimmed = false) {\n+    if (pin < 0) throw new RangeError("no such pin");\n     this.#pin = pin;\n   }`,
    ),
  "stack trace": () =>
    lines(
      8,
      (row) =>
        `TypeError: Cannot read properties of undefined (reading 'pin${row}')\n    at Lamp.open (/home/ada/lamp/src/driver/lamp.ts:${row * 13 + 4}:17)\n    at async Promise.all (index ${row})\n    at processTicksAndRejections (node:internal/process/task_queues:105:5)\n    at async main (file:///home/ada/lamp/node_modules/.pnpm/tsx@4.19.${row}/node_modules/tsx/dist/run.mjs:2:${row * 791})`,
    ),
  "colored terminal": () =>
    lines(
      30,
      (row) =>
        `\u001b[32m✓\u001b[39m test/unit/lamp-${row}.test.ts \u001b[2m(\u001b[22m\u001b[2m${row + 3} tests\u001b[22m\u001b[2m)\u001b[22m\u001b[90m ${row * 17}ms\u001b[39m`,
    ),
  "log lines": () =>
    lines(
      30,
      (row) =>
        `2026-03-${10 + (row % 20)}T0${row % 10}:12:${10 + row}.${100 + row * 7}Z [worker-${row % 4}] INFO  request_id=${hex(`request ${row}`, 16)} status=200 duration_ms=${row * 31} path=/api/v2/sessions/${row}`,
    ),
  "file list": () =>
    lines(
      30,
      (row) =>
        `-rw-r--r--  1 ada  staff  ${String(number(`size ${row}`, 900_000)).padStart(8)} Mar ${String(1 + (row % 28)).padStart(2)} 12:0${row % 10} lamp_driver_${row}.cpp`,
    ),
  "table of white space": () =>
    lines(
      30,
      (row) =>
        `${"NAME".padEnd(24)}${String(row).padStart(8)}${"running".padStart(20)}${"\t\t"}${`${row * 3}m`.padEnd(30)}ok${" ".repeat(row)}`,
    ),
  "Markdown table": () =>
    `| name | count | share | note |\n| --- | ---: | ---: | --- |\n${lines(30, (row) => `| lamp ${row} | ${row * 37} | ${(row / 30).toFixed(3)} | **on** |`)}`,
  boxes: () =>
    `┌${"─".repeat(40)}┬${"─".repeat(12)}┐\n${lines(15, (row) => `│ lamp ${String(row).padEnd(33)} │ ${String(row * 9).padStart(10)} │\n├${"─".repeat(40)}┼${"─".repeat(12)}┤`)}`,
  "one letter": () => "a".repeat(2_000),
  "one sign": () => "=".repeat(2_000),
  spaces: () => `${" ".repeat(1_000)}.`,
  "empty lines": () => `${"\n".repeat(1_000)}.`,
  zeros: () => "0".repeat(2_000),
  emoji: () =>
    "Done 🎉🚀 all tests pass ✅, one flaky ⚠️. 👩‍💻 reviewed it 👍🏽, thanks 🙏! 🇳🇴 next: 🔧🐛📦✨ 😅🤔💯 ".repeat(8),
  "one emoji": () => "😀".repeat(300),
  "names in rare scripts": () => RARE_NAMES,
  escapes: () =>
    JSON.stringify(PROSE.russian).replace(
      /[^\0-\x7f]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  "percent encoding": () => encodeURIComponent(PROSE.japanese!.slice(0, 80)),
  "mixed prose and hashes": () =>
    lines(20, (row) => `Release ${row}: see commit ${hex(`release ${row}`, 40)} and the notes for the lamp driver.`),
};

export function tokenTexts(): Map<string, TokenText> {
  return new Map<string, TokenText>([
    ...Object.entries(PROSE).map(([kind, text]) => [kind, { group: "prose" as const, text }] as const),
    ...Object.entries(CODE).map(([kind, text]) => [kind, { group: "code" as const, text }] as const),
    ...Object.entries(DATA).map(([kind, make]) => [kind, { group: "data" as const, text: make() }] as const),
  ]);
}
