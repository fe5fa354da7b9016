import { expect, test } from "vitest";
import { commandLineOf, commandsIn } from "../../../src/models/shell.ts";
import { processorMsSince } from "../../support/processor-time.ts";

function startedBy(line: string): string[] {
  return commandsIn(line).map(({ words }) => words.join(" "));
}

test.each([
  ["cd web && A=1 sudo -u ada go test ./... 2>&1 | tail -5", ["cd web", "go test ./...", "tail -5"]],
  ['git commit -m "a; b && c" && git push', ["git commit -m a; b && c", "git push"]],
  ["timeout 60 npm run x -- --y='z w' || true", ["npm run x -- --y=z w", "true"]],
  ["(cd a; make)", ["cd a", "make"]],
  ["echo $(git rev-parse HEAD | head -1) # c", ["echo $(git rev-parse HEAD | head -1)"]],
  ["if test -f x; then rm x; fi", ["test -f x", "rm x", "fi"]],
  ["a &&\nb \\\n --c", ["a", "b --c"]],
  ["echo \\; ls", ["echo ; ls"]],
  ["", []],
  ["'", [""]],
])("a command line starts these programs: %s", (line, programs) => {
  expect(startedBy(line)).toEqual(programs);
});

test("a text behind << is no command, and a file behind > is written", () => {
  const commands = commandsIn(
    "cat > notes.md <<'EOF'\nrm -rf / && echo\nEOF\nnpm test > out.log 2>/dev/null; wc -l 0<out.log",
  );
  expect(commands.map(({ words, writes }) => [words.join(" "), writes])).toEqual([
    ["cat", ["notes.md"]],
    ["npm test", ["out.log", "/dev/null"]],
    ["wc -l", []],
  ]);
});

test("the exit status is that of the last list of programs, unless a failure is ignored", () => {
  const told = (line: string): boolean[] => commandsIn(line).map(({ isPiped, isOfLast }) => isOfLast && !isPiped);
  expect(told("make && make test")).toEqual([true, true]);
  expect(told("make &&\nmake test")).toEqual([true, true]);
  expect(told("make; make test | tail")).toEqual([false, false, true]);
  expect(told("make && make test; echo done")).toEqual([false, false, true]);
  expect(told("make || true")).toEqual([false, true]);
});

test("texts that agents pass to a command are one word", () => {
  const message = '"$(cat <<\'EOF\'\nSay "stop; rm -rf build" (here\nEOF\n)"';
  expect(commandsIn(`git commit -m ${message} && git push`).map(({ words }) => words.length)).toEqual([4, 2]);
  const indented = "cat <<-EOF > out.txt\n\tnpm run deploy\n\tEOF\nls";
  expect(commandsIn(indented).map(({ words, writes }) => [...words, ...writes])).toEqual([["cat", "out.txt"], ["ls"]]);
});

test("a long line of signs takes no long time", () => {
  for (const line of [
    `${")".repeat(20_000)}x`,
    `"${"$(".repeat(9_000)}`,
    "<".repeat(20_000),
    `${"a".repeat(20_000)}\0`,
  ]) {
    const from = process.cpuUsage();
    commandsIn(line);
    expect(processorMsSince(from)).toBeLessThan(500);
  }
});

test("a list of arguments is a command line, also behind a shell", () => {
  expect(commandLineOf(["bash", "-lc", "npm test && ls"])).toBe("npm test && ls");
  const line = commandLineOf(["git", "commit", "-m", "it's done"]);
  expect(startedBy(line)).toEqual(["git commit -m it's done"]);
});
