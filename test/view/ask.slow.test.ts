import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openStore } from "../../src/index.ts";
import { FakeAgent } from "../support/fake-agent.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { hasChromium, openView } from "../support/view-page.ts";

test.skipIf(!hasChromium)(
  "a person asks in the page, and a citation leads to the message",
  async () => {
    const folder = scratchFolder();
    const file = join(folder, "agent.db");
    const store = openStore(file);
    store.session("lock", { project: "web", title: "The lock" }).append([
      { role: "user", content: "Why do we still use flock for the session lock?" },
      { role: "assistant", content: "We dropped flock, because NFS mounts ignore it." },
    ]);
    const dropped = store.resume("lock").messages().at(-1)!.id;
    store.close();
    const fake = new FakeAgent(folder);
    const reply = `NFS mounts ignore it. [message:${dropped}, message:424242]`;
    for (const [name, value] of Object.entries(fake.env("answer", reply))) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const agent = {
      name: "claude",
      title: "Claude Code",
      redact: (text: string) => text,
      isLeftOut: () => false,
    } as const;
    const view = await openView(file, { agent });
    onTestFinished(() => view.close());
    const { page, go } = view;
    await go("view=search&q=why+did+we+drop+flock");
    await page.getByLabel("What to find").selectOption({ label: "An answer by Claude Code" });
    await page.getByText("would go to Claude Code and its model").waitFor();
    await page.getByLabel("Search", { exact: true }).press("Enter");
    await page.getByText("1 citation of messages that were not sent was struck out").waitFor();
    if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT });
    await page.locator(".answer p a").click();
    await page.locator(".message.is-marked", { hasText: "We dropped flock" }).waitFor();
    expect(view.faults).toEqual([]);
  },
  120_000,
);
