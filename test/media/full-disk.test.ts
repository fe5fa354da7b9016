import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore, StoreError } from "../../src/index.ts";
import { someTo } from "../support/effort.ts";
import { canFillDisk, onFullDisk } from "../support/full-disk.ts";
import { prepared } from "../support/prepared-event.ts";
import { allRows } from "../support/rows.ts";
import { talk } from "../support/said.ts";
import { openForEvent, STORE_EVENTS } from "../support/store-events.ts";
import { copyStore } from "../support/store-files.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

/** The header of a write-ahead log, and a frame of it: its own header and a page (https://sqlite.org/fileformat2.html, 4.1). */
const LOG_HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;

/** Where the disk ends in a frame: before it, in its header, in its page; in turn from frame to frame. */
const ENDS = [0, 12, 2_000];

async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  return undefined;
}

/**
 * Goal: a disk that is full at any write of an event leaves the store as it was before it, and the very same store can go on once there
 * is room again.
 * Method: let the event happen once, to see how many frames it adds to the write-ahead log; then end the disk at the first frame, at the
 * second, and so on.
 */
test.skipIf(!canFillDisk).each(Object.entries(STORE_EVENTS))(
  "a disk that is full at any write leaves the store as it was, for the next try: when %s",
  async (_, event) => {
    const { happen, options, rowsOf = allRows, isUpkeep = false } = event;
    const { folder, path: whole, before, after, logBytes } = await prepared(event);
    const frameCount = (logBytes - LOG_HEADER_BYTES) / FRAME_BYTES;
    expect(frameCount).toBeGreaterThanOrEqual(1);
    for (const frame of someTo(frameCount, 2, 10)) {
      const end = LOG_HEADER_BYTES + (frame - 1) * FRAME_BYTES + ENDS[frame % ENDS.length]!;
      const path = copyStore(whole, join(folder, `${frame}.db`));
      const store = openForEvent(path, options);
      const failure = await onFullDisk(end, () => failureOf(() => happen(store)));
      if (failure !== undefined || !isUpkeep) {
        expect(failure).toMatchObject({ code: "FILE_NOT_USABLE", details: { path } });
      }
      // An upkeep is done once all but its last note is written.
      if (isUpkeep && failure === undefined) expect([before, after]).toContainEqual(rowsOf(path));
      else expect(rowsOf(path)).toEqual(before);
      await happen(store);
      expect(rowsOf(path)).toEqual(after);
      store.close();
    }
  },
);

describe.skipIf(!canFillDisk)("on a full disk", () => {
  test("no store is made, at whatever byte the disk ends, and one is made there once there is room", async () => {
    const sizes = [0, 100, 4_096, 20_000, 32_768, 60_000];
    for (const bytes of sizes) {
      const path = temporaryPath();
      expect(await onFullDisk(bytes, () => failureOf(() => openStore(path)))).toMatchObject({
        code: "FILE_NOT_USABLE",
      });
      openedStore(path).session("s").append({ role: "user", content: "There is room again." });
      expect(openedStore(path).verify()).toMatchObject({ ok: true, messageCount: 1 });
    }
  });

  test("everything can still be read, and closing loses nothing that was acknowledged", async () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s").append(talk(20));
    await onFullDisk(1_000, () => {
      expect(store.session("s").messages()).toHaveLength(20);
      expect(() => store.session("s").append({ role: "user", content: "No room." })).toThrow(StoreError);
      expect(store.session("s").render().messages).toHaveLength(20);
      expect(store.verify().ok).toBe(true);
      store.close(); // cannot empty its log into the file
    });
    expect(
      openedStore(path)
        .resume("s")
        .messages()
        .map(({ seq }) => seq),
    ).toEqual([...Array(20).keys()]);
  });

  test("a backup fails and leaves nothing behind", async () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s").append(talk(20));
    const target = temporaryPath();
    const failure = await onFullDisk(30_000, () => failureOf(() => store.backup(target)));
    expect(failure).toMatchObject({ code: "FILE_NOT_USABLE" });
    expect(statSync(target, { throwIfNoEntry: false })).toBeUndefined();
    expect((await store.backup(target)).messageCount).toBe(20);
  });
});
