import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

test("every promise of the README is named by a test, and every named promise exists", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const [, section = ""] = /^## What you can count on\n([\s\S]*?)^## /m.exec(readme) ?? [];
  const promised = Array.from(section.matchAll(/^(\d+)\. \*\*/gm), ([, number]) => Number(number));
  const files = readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" });
  const named = files
    .filter((file) => file.endsWith(".test.ts"))
    .flatMap((file) => [...readFileSync(join(ROOT, "test", file), "utf8").matchAll(/(?:test|describe)\(\s*"([^"]*)"/g)])
    .flatMap(([, title]) => Array.from(title!.matchAll(/promise (\d+)/g), ([, number]) => Number(number)));
  expect([...new Set(named)].sort()).toEqual(promised);
});
