import { expect, test } from "vitest";
import type { RenderResult, Session, Store } from "../../../src/index.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

function blockOf({ messages }: RenderResult): string | undefined {
  const texts = messages.flatMap(({ parts }) => parts.map((part) => String(part.text)));
  return texts.find((text) => text.startsWith("<story>"));
}

/** An agent's rounds: a call on a file, and its result. */
function work(session: Session, from: number, to: number): void {
  for (let round = from; round < to; round++) {
    const path = `src/part${round}.go`;
    session.append([
      {
        role: "assistant",
        parts: [{ type: "tool_call", toolCallId: `c${round}`, name: "Read", args: { file_path: path } }],
      },
      {
        role: "tool",
        parts: [
          { type: "tool_result", toolCallId: `c${round}`, content: `It does what part ${round} of its model does.` },
        ],
      },
    ]);
  }
}

function begun(store: Store = temporaryStore()): Session {
  const session = store.session("s");
  session.append({ role: "user", content: "Port the parser to Rust, part by part." });
  return session;
}

test("a session that is shown whole is told nothing besides", () => {
  const session = begun();
  work(session, 0, 5);
  const context = session.render({ tokensMax: 8_000 });
  expect(blockOf(context)).toBeUndefined();
  expect(context.story).toEqual([]);
});

test("a long session is told its goal, its path and its working set, and every line leads back", () => {
  const session = begun();
  work(session, 0, 100);
  const context = session.render({ tokensMax: 2_000 });
  const block = blockOf(context)!;
  expect(block).toContain('<asked seq="0">Port the parser to Rust, part by part.</asked>');
  expect(block).toMatch(/<did seq="\d+-\d+">read part\d+\.go; /);
  expect(block).toMatch(/<files seq="\d+-\d+">src\/\{part\d+\.go, /);
  expect(context.story.length).toBeGreaterThan(10);
  for (const { messageId, seq, messageIndex } of context.story) {
    expect(session.messages({ seqFrom: seq, seqTo: seq })[0]!.id).toBe(messageId);
    expect(context.messages[messageIndex]!.parts.some((part) => part.text === block)).toBe(true);
  }
});

test("what is told is the same in the process that wrote it and in one that opens the store", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = begun(store);
  for (let round = 0; round < 200; round += 10) {
    work(session, round, round + 10);
    session.append({ role: "user", content: `Go on with the parts from ${round + 10} on, never the tests.` });
    session.render({ tokensMax: 2_000 });
  }
  const resumed = openedStore(path, { readonly: true }).resume("s");
  expect(resumed.render({ tokensMax: 2_000 })).toEqual(session.render({ tokensMax: 2_000 }));
});

test("a digest of very long messages is the same in the process that wrote them and in one that opens the store", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s");
  const lines = (number: number) => Array.from({ length: 150 }, (_, line) => `Line ${line} of page ${number} is long.`);
  for (let number = 0; number < 200; number++) {
    session.append({ role: "user", content: lines(number).join("\n") });
    if (number % 10 === 0) session.render({ tokensMax: 4_000 });
  }
  session.append({ role: "user", content: "What was on page 1?" });
  const context = session.render({ tokensMax: 4_000 });
  store.close();
  expect(openedStore(path).resume("s").render({ tokensMax: 4_000 })).toEqual(context);
  expect(context.story.length).toBeGreaterThan(3);
});

test("a limit that the user set long ago is told for as long as it is among the newest turns", () => {
  const session = begun();
  session.append({ role: "user", content: "Do not change the grammar file." });
  work(session, 0, 400);
  expect(blockOf(session.render({ tokensMax: 4_000 }))).toContain(
    '<asked seq="1">Do not change the grammar file.</asked>',
  );
});

test("what the user asked to be kept is told until the user takes it back, and is given room for it", () => {
  const session = begun();
  for (let dock = 1; dock <= 12; dock++) {
    session.append({
      role: "user",
      content: `Please remember that the crane of dock ${dock} lifts ${40 + dock} tons.`,
    });
    work(session, 20 * dock, 20 * dock + 20);
  }
  work(session, 300, 340);
  const kept = (tokensMax: number) => blockOf(session.render({ tokensMax }))!.match(/Please remember .*/g) ?? [];
  expect(kept(4_000)).toHaveLength(12);
  expect(kept(2_000).at(-1)).toContain("dock 12 lifts 52 tons.");
  session.append({ role: "user", content: "Forget what I said about the crane of dock 3 that lifts 43 tons." });
  work(session, 340, 380);
  expect(kept(4_000)).toHaveLength(11);
});

test("what was forgotten is told no more", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = begun(store);
  work(session, 0, 100);
  expect(blockOf(session.render({ tokensMax: 2_000 }))).toContain("Port the parser");
  const other = openedStore(path);
  other.forget("s");
  expect(() => session.render({ tokensMax: 2_000 })).toThrow();
  const again = other.session("s");
  work(again, 0, 100);
  expect(blockOf(again.render({ tokensMax: 2_000 }))).not.toContain("Port the parser");
});

test("nobody is told what another process has forgotten, whoever appends first", () => {
  const path = temporaryPath();
  const session = openedStore(path).session("s", { hotSize: 5, overlap: 1, evictBatch: 4 });
  const { messageId } = session.append({ role: "user", content: "Never touch the file src/marmalade.ts again." });
  work(session, 0, 40);
  expect(blockOf(session.render({ tokensMax: 2_000 }))).toContain("marmalade");

  openedStore(path).forget("s", { messageIds: [messageId] });
  session.append({ role: "user", content: "Go on with the next part." });
  expect(JSON.stringify(session.render({ tokensMax: 2_000 }))).not.toContain("marmalade");
});

test("whoever goes on reads what was asked and answered last, word for word, however many calls came since", () => {
  const session = begun();
  const asked = "Port the lexer, too:\n\n- keep its tests,\n- and never let it read a file twice.";
  const said = "I port the lexer first.\n\nIts tests need a reader that counts how often a file is read.";
  session.append([
    { role: "user", content: asked },
    { role: "assistant", content: said },
  ]);
  work(session, 0, 60);
  for (const tokensMax of [1_000, 2_000, 4_000, 8_000]) {
    const text = JSON.stringify(session.render({ tokensMax }).messages);
    for (const words of [asked, said]) expect(text, String(tokensMax)).toContain(JSON.stringify(words).slice(1, -1));
  }
});
