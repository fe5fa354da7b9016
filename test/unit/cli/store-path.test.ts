import { expect, test } from "vitest";
import { defaultStorePath } from "../../../src/cli/stores/store-path.ts";

const LINUX = { platform: "linux", home: "/home/mira" } as const;

test("COPPICE_DB comes first", () => {
  expect(defaultStorePath({ ...LINUX, env: { COPPICE_DB: "mine.db", XDG_DATA_HOME: "/data" } })).toBe("mine.db");
});

test("on Linux it is XDG_DATA_HOME, unless that is empty or not absolute", () => {
  expect(defaultStorePath({ ...LINUX, env: { XDG_DATA_HOME: "/data" } })).toBe("/data/coppice/agent.db");
  for (const env of [{}, { XDG_DATA_HOME: "" }, { XDG_DATA_HOME: "data" }, { COPPICE_DB: "" }]) {
    expect(defaultStorePath({ ...LINUX, env })).toBe("/home/mira/.local/share/coppice/agent.db");
  }
});

test("on macOS it is the user's Application Support", () => {
  const path = defaultStorePath({ platform: "darwin", home: "/Users/mira", env: { XDG_DATA_HOME: "/data" } });
  expect(path).toBe("/Users/mira/Library/Application Support/coppice/agent.db");
});

test("on Windows it is the user's local application data", () => {
  const windows = { platform: "win32", home: "C:\\Users\\mira" } as const;
  expect(defaultStorePath({ ...windows, env: { LOCALAPPDATA: "D:\\Local" } })).toBe("D:\\Local\\coppice\\agent.db");
  expect(defaultStorePath({ ...windows, env: {} })).toBe("C:\\Users\\mira\\AppData\\Local\\coppice\\agent.db");
});
