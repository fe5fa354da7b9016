import { describe, expect, test } from "vitest";
import { Redactor } from "../../../src/imports/redaction/redact.ts";
import { secretsIn } from "../../../src/imports/redaction/secrets.ts";
import { randomLooking } from "../../support/secrets.ts";

const found = (text: string): string[] => secretsIn(text).map(({ start, end }) => text.slice(start, end));

/** Lines in which `%` is a secret. */
const SPELLINGS = [
  // Files of settings.
  "services:\n  db:\n    environment:\n      DB_PASSWORD: %\n      OTHER: 1",
  "    POSTGRES_PASSWORD: '%'",
  "env:\n  API_KEY: % # for the tests",
  "password: %",
  "  secretKey: %",
  'apiKey: "%"',
  "api_key = %",
  "password=%",
  'db.password="%"',
  "spring.datasource.password=%",
  "- name: DB_PASSWORD\n  value: %",
  '{"name": "DB_PASSWORD", "value": "%"}',
  String.raw`{\"name\":\"API_TOKEN\",\"value\":\"%\"}`,
  "<password>%</password>",
  '<add key="ApiKey" value="%" />',
  '{"password":"%"}',
  'api_key = "%"',
  "requirepass_token: %",
  "SECRET_KEY_BASE=%",
  "STRIPE_SECRET_KEY_LIVE=%",
  "API_KEY_2=%",
  // Images and shells.
  "ENV API_TOKEN %",
  "ENV API_TOKEN=%",
  "ARG NPM_TOKEN=%",
  'export DB_PASSWORD="%"',
  "set -gx API_KEY %",
  "setx API_KEY %",
  "setenv DB_PASSWORD %",
  '$env:API_KEY = "%"',
  "$env:DB_PASSWORD='%'",
  "DB_PASS=%",
  "docker run -e DB_PASSWORD=% postgres",
  "docker build --build-arg TOKEN=% .",
  "heroku config:set API_KEY=%",
  "kubectl create secret generic db --from-literal=password=%",
  "vault kv put secret/db password=%",
  "mysql -u root -p% shop",
  "docker login -u ada -p % registry.test",
  "sshpass -p '%' ssh ada@host.test",
  "redis-cli -h cache -a % ping",
  "tool --password=% run",
  "tool --password % run",
  "tool --api-key % run",
  'tool --auth-token "%" run',
  "curl -u ada:% https://host.test",
  "wget --user=ada --password=% https://host.test",
  // Code.
  'os.environ["DB_PASSWORD"] = "%"',
  'os.environ.get("API_KEY", "%")',
  'os.getenv("API_KEY") or "%"',
  'process.env.API_KEY = "%"',
  "process.env.API_KEY ?? '%'",
  'const API_KEY = "%";',
  "const apiKey: string = '%';",
  "let api_key = `%`;",
  'private static final String DB_PASSWORD = "%";',
  'apiKey := "%"',
  'const API_TOKEN: &str = "%";',
  'os.Setenv("API_TOKEN", "%")',
  "define('DB_PASSWORD', '%');",
  "'password' => '%',",
  ":password => '%'",
  'connect(host="db", password="%")',
  'token=SecretStr("%")',
  'conn = "host=db user=ada password=% dbname=shop"',
  "Server=db;Database=shop;User Id=ada;Password=%;",
  "Server=db;Uid=ada;Pwd=%;",
  // Requests.
  'curl -H "PRIVATE-TOKEN: %" https://host.test',
  "PRIVATE-TOKEN: %",
  "X-Auth-Token: %",
  "X-Vault-Token: %",
  "api-key: %",
  "apikey: %",
  "Ocp-Apim-Subscription-Key: %",
  "Authorization: %",
  "Authorization: GenieKey %",
  'Authorization: Token token="%"',
  "Proxy-Authorization: Basic %",
  'headers["Authorization"] = "Bearer %"',
  "Cookie: theme=dark; sessionid=%; lang=en",
  "Set-Cookie: auth_token=%; Path=/",
  "GET /me?access_token=%&x=1",
  "https://api.test/v1?api_key=%",
  "https://maps.test/api?key=%",
  "https://ada:%@host.test/repo.git",
  "git clone https://%@host.test/repo.git",
  "auth=('ada', '%')",
  "Bearer %",
  // Beside a name.
  "the password is %",
  "the token password=% is old",
  "**API key:** %",
  "| API_KEY | % |",
  '#define API_KEY "%"',
  '{:password "%"}',
  "{ user: 'ada', pass: '%' }",
  "dbPass = '%'",
  "PASSWORD:%",
  "--client-secret %",
  "aws configure set aws_secret_access_key %",
  "ALTER USER ada WITH PASSWORD '%';",
  "CREATE USER ada IDENTIFIED BY '%';",
  "echo % | docker login -u ada --password-stdin",
];

describe("a secret value", () => {
  const random = `t7${randomLooking(24)}`;
  test.each(SPELLINGS)("is found in %s", (line) => {
    const text = line.replace("%", random);
    expect(found(text)).toEqual([random]);
    const colored = text.replace(random, `\x1b[32m${random}\x1b[0m`);
    expect(new Redactor({ keepSecrets: false }).redacted(colored)).not.toContain(random);
    const json = JSON.stringify(text);
    expect(found(json).join()).toContain(random);
  });

  test.each(["Tr0ub4dor&3x", "S3cr3t!pw", "kX9#mP2$vL5n", "hunter2pony7", "p4ss-W0rd!"])(
    "may be the password %s",
    (password) => {
      for (const line of SPELLINGS.filter((one) => /(?:password|PASSWORD)["'\]]{0,2}\s?(?:=>?|:) ?["']?%/.test(one)))
        expect([
          line,
          found(line.replace("%", () => password))
            .join()
            .slice(0, 6),
        ]).toEqual([line, password.split("&")[0]!.slice(0, 6)]);
    },
  );

  test.each([
    ["around the value", `DB_PASSWORD=\x1b[32m${random}\x1b[0m`],
    ["around the name", `\x1b[1;33mDB_PASSWORD\x1b[0m\x1b[90m=\x1b[0m\x1b[32m"${random}"\x1b[0m`],
    ["as JSON writes them", JSON.stringify(`\x1b[33mAPI_KEY\x1b[39m: \x1b[32m'${random}'\x1b[39m`)],
    ["inside of the value", `export API_KEY=${random.slice(0, 9)}\x1b[K\x1b[1m${random.slice(9)}\x1b[m`],
    ["of which one ends the text", `API_KEY=${random}\x1b[0m`],
  ])("is found between colors %s", (_, text) => {
    const redacted = new Redactor({ keepSecrets: false }).redacted(text);
    expect(redacted).toContain("[secret: ");
    expect(redacted).not.toContain(random.slice(0, 9));
    expect(redacted).not.toContain(random.slice(9));
  });

  test("is found under a key that names it", () => {
    const call = { host: "db", password: "Tr0ub4dor&3x", env: { API_KEY: random, SHELL: random }, tokens: "12345678" };
    expect(new Redactor({ keepSecrets: false }).redacted(call)).toEqual({
      ...call,
      password: "[secret: named-secret]",
      env: { API_KEY: "[secret: named-secret]", SHELL: random },
    });
    const schema = {
      password: "string",
      token: null,
      secret: `\${SECRET}`,
      apiKey: "process.env.API_KEY",
      next_page_token: random,
    };
    expect(new Redactor({ keepSecrets: false }).redacted(schema)).toEqual(schema);
  });
});

const hex = (length: number): string => randomLooking(length, "hex");
const word = (length: number): string => randomLooking(length);
const lower = (length: number): string => randomLooking(length).toLowerCase();

/** Tokens as their providers give them. */
const TOKENS: Record<string, string> = {
  docker: `dckr_pat_${word(27)}`,
  "docker organization": `dckr_oat_${word(32)}`,
  tailscale: `tskey-auth-k${word(11)}CNTRL-${word(32)}`,
  nvidia: `nvapi-${word(64)}`,
  e2b: `e2b_${hex(40)}`,
  elevenlabs: `sk_${hex(48)}`,
  airtable: `pat${word(14)}.${hex(64)}`,
  terraform: `${word(14)}.atlasv1.${word(67)}`,
  neon: `napi_${lower(64)}`,
  resend: `re_${word(8)}_${word(24)}`,
  firecrawl: `fc-${hex(32)}`,
  fireworks: `fw_${word(24)}`,
  together: `tgp_v1_${word(43)}`,
  cerebras: `csk-${lower(48)}`,
  langfuse: `sk-lf-${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
  posthog: `phx_${word(43)}`,
  deepseek: `sk-${hex(32)}`,
  moonshot: `sk-${word(48)}`,
  litellm: `sk-${word(22)}a1`,
  helicone: `sk-helicone-${lower(30)}`,
  "anthropic session": `sk-ant-sid01-${word(86)}AA`,
  jina: `jina_${word(60)}`,
  llamacloud: `llx-${word(48)}`,
  logfire: `pylf_v1_us_${word(43)}`,
  runpod: `rpa_${word(46).toUpperCase()}`,
  apify: `apify_api_${word(36)}`,
  netlify: `nfp_${word(40)}`,
  render: `rnd_${word(32)}`,
  buildkite: `bkua_${hex(40)}`,
  circleci: `CCIPAT_${word(22)}_${hex(40)}`,
  snyk: `snyk_uat.${hex(8)}.${word(80)}`,
  sonar: `squ_${hex(40)}`,
  contentful: `CFPAT-${word(43)}`,
  crates: `cio${word(32)}`,
  nuget: `oy2${lower(43)}`,
  clojars: `CLOJARS_${hex(60)}`,
  shippo: `shippo_live_${hex(40)}`,
  easypost: `EZAK${word(54)}`,
  razorpay: `rzp_live_${word(14)}`,
  clickup: `pk_12345678_${word(32).toUpperCase()}`,
  hubspot: `pat-na1-${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
  "atlassian app": `ATCTT3x${word(186)}`,
  bitbucket: `ATBB${word(32)}`,
  trello: `ATTA${hex(64)}`,
  facebook: `EAAC${word(160)}`,
  square: `EAAA${word(60)}`,
  mailchimp: `${hex(32)}-us12`,
  mapbox: `sk.eyJ${word(80)}.${word(22)}`,
  openshift: `sha256~${word(43)}`,
  harness: `pat.${word(22)}.${word(24)}.${word(20)}`,
  "azure openai": `${word(52)}JQQJ99${word(26)}`,
  "google refresh": `1//0${word(60)}`,
  gemini: `AQ.Ab8RN6${word(45)}`,
  "doppler service": `dp.st.prd.${word(43)}`,
  "slack cookie": `xoxd-${word(60)}%2B${word(60)}`,
  "gitlab runner": `GR1348941${word(20)}`,
  "linear oauth": `lin_oauth_${hex(64)}`,
  "1password account": "A3-K7QH2M-X9TRW4-8FZNP-3VJDL-6YBCS-W2HKM",
  "twitter bearer": `${"A".repeat(20)}${word(80)}`,
};

describe("a token", () => {
  test.each(Object.entries(TOKENS))("of %s is found alone, in a sentence and in code", (_, token) => {
    for (const [before, after] of [
      ["", ""],
      ["use ", " for it"],
      ['"', '"'],
      ["(", ")"],
      ["\\n", "\\n"],
    ])
      expect(found(`${before}${token}${after}`)).toEqual([token]);
  });

  test("of Telegram is found in the address of its bot", () => {
    const token = `1234567890:AA${word(33)}`;
    expect(found(`https://api.telegram.org/bot${token}/getMe`)).toEqual([token]);
  });

  test("of which one character comes again and again is found, unless it stands for a placeholder", () => {
    for (const token of [`sk-ant-api03-${"a".repeat(93)}AA`, `ghp_${"a".repeat(36)}`, `AKIA${"A".repeat(16)}`])
      expect(found(token)).toEqual([token]);
    for (const token of [`sk-ant-api03-${"x".repeat(93)}AA`, `ghp_${"0".repeat(36)}`]) expect(found(token)).toEqual([]);
  });

  test("is a private key of WireGuard, PuTTY or a JWK, and no public one", () => {
    const key = `${word(43)}=`;
    expect(found(`[Interface]\nPrivateKey = ${key}\nAddress = 10.0.0.2\n[Peer]\nPublicKey = ${word(43)}=`)).toEqual([
      key,
    ]);
    const putty = `PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\n${word(60)}\nPrivate-Lines: 1\n${word(48)}\nPrivate-MAC: ${hex(64)}`;
    expect(found(putty).join().trim()).toBe(word(48));
    expect(found(`{"kty":"EC","x":"${hex(43)}","d":"${word(43)}"}`)).toEqual([word(43)]);
    expect(found(`{"kty":"RSA","n":"${word(300)}","e":"AQAB"}`)).toEqual([]);
  });
});

describe("no secret", () => {
  test.each([
    "password: string;",
    "password: string | undefined",
    "password: z.string().min(8)",
    "password: user.password,",
    "password: hashedPassword2,",
    `password: \${DB_PASSWORD}`,
    "password: {{ .Values.password }}",
    "password: <your password>",
    "password: ********",
    "password: changeme",
    "password: test1234",
    'password: "password123"',
    `DB_PASSWORD: \${{ secrets.DB_PASSWORD }}`,
    "DB_PASSWORD: !Ref DbPassword",
    "POSTGRES_PASSWORD: postgres",
    "token: null",
    "token: undefined,",
    "token: req.headers.authorization",
    "token: token2,",
    'token: "test-token-1"',
    "apiKey: process.env.OPENAI_API_KEY!",
    'apiKey: "your-api-key"',
    'api_key="sk-..."',
    "api_key = os.environ['API_KEY']",
    "const token = await sign2({ id: 7 });",
    "const secret = crypto.randomBytes(32).toString('hex');",
    "if (password.length < 12) throw new Error('too short');",
    "if (token === 'EOF2') return;",
    "max_tokens: 200000, total_tokens=12345678",
    `next_page_token: "${word(40)}"`,
    "--token-limit 200000",
    "--password-file /run/secrets/db",
    "--api-key $API_KEY",
    "tool --password <password>",
    "mysql -u root -p shop",
    "docker run -p 8080:80 nginx",
    "docker login -u ada --password-stdin",
    "ENV PATH /usr/local/bin:$PATH",
    "ENV NODE_VERSION 20.20.2",
    "the password: it must have 12 characters",
    "Forgot your password? Enter token 12 or 13.",
    "access_key_id, secret_key and session_token are columns",
    '["password", "username", "email2"]',
    `Authorization: Bearer \${token}`,
    "Authorization: Bearer <token>",
    `headers: { Authorization: \`Bearer \${process.env.TOKEN}\` }`,
    "Cookie: theme=dark; lang=en",
    "https://host.test/login?next=/home&code=200",
    "https://host.test/?key=value&page=2",
    "PWD=/home/ada/src OLDPWD=/home/ada",
    "PRIMARY_KEY=id2 SORT_KEY=createdAt",
    `commit ${hex(40)}`,
    `sha256:${hex(64)}`,
    `sha512-${word(86)}==`,
    "id 3f2b8c1a-9d4e-4f6a-8b7c-1e2d3f4a5b6c",
    `toolu_01${word(22)} call_${word(24)} msg_${word(24)} chatcmpl-${word(29)} resp_${hex(48)} fc_${hex(48)}`,
    `ses_${word(26)} prt_${word(26)} req_${word(24)} run_${word(24)}`,
    `data:image/png;base64,iVBORw0KGgo${word(400)}`,
    'test("keeps a token with 12 parts", () => {});',
    "--- PASS: TestLoad/long_path_00 (0.10s)",
    "we pass transcriptStart=0 to it, the token count1 and the secret sauce2",
    '["password" "email2"], password "is2wrong"',
    "the password is Required2 and the token is v2.1-beta",
    "key-value store, sk-learn, re_export_all_modules_2, fc-cache -fv, pk_column_1",
    "Key: ArrowDown, keyCode: 40",
    "localStorage.setItem('token', token)",
    "password: Option<String>,",
    "password VARCHAR(255) NOT NULL",
    "secret: sops-age-encrypted",
    "secretName: db-credentials-v2",
    "credentials: include",
    "credentials: 'same-origin'",
  ])("is in %s", (text) => {
    expect(found(text)).toEqual([]);
  });
});
