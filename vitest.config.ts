import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { filesOfBoth } from "./test/support/files-of-both.ts";
import { UnfinishedFiles } from "./test/support/unfinished-files.ts";

/** `npm test` leaves these to `npm run test:all`, which is `vitest run --mode all`. */
const SLOW = "**/*.slow.test.ts";

export default defineConfig(({ mode }) => {
  // `npm run test:rest` is `vitest run --mode rest`: everything, except the files that are the same in `npm test`.
  const isAll = mode === "all" || mode === "rest";
  const left = mode === "rest" ? filesOfBoth("test") : isAll ? [] : [SLOW];
  const exclude = [...configDefaults.exclude, ...left];
  // Each project has it, because the configuration that a project extends is made without the mode.
  const env = { COPPICE_TESTS: isAll ? "all" : "" };
  return {
    test: {
      // Forks keep a crashed native module from taking the others along.
      pool: "forks",
      // The files of a worker share its modules: to load them for each file would take as long as half of the tests.
      isolate: false,
      // A third of it waits for disks, other processes and timers.
      maxWorkers: Math.ceil(availableParallelism() * 1.5),
      reporters: ["default", new UnfinishedFiles()],
      // A loaded machine takes its time; only a test that hangs waits so long.
      testTimeout: 120_000,
      hookTimeout: 120_000,
      // The machine may be busy; only a test that fails waits so long.
      expect: { poll: { timeout: 10_000 } },
      globalSetup: ["test/support/temporary-files.ts", "test/support/bundles.ts"],
      setupFiles: ["test/support/seed.ts", "test/support/children.ts"],
      projects: [
        {
          extends: true,
          test: {
            name: "library",
            env,
            include: ["test/**/*.test.ts"],
            exclude: [...exclude, "test/{e2e,docs,view,hub}/**"],
          },
        },
        {
          extends: true,
          // These run the package as its users do.
          test: {
            name: "package",
            env,
            include: ["test/{e2e,docs,view}/**/*.test.ts"],
            exclude,
            globalSetup: ["test/support/build.ts"],
          },
        },
        {
          extends: true,
          // These run on a Postgres server.
          test: {
            name: "hub",
            env,
            include: ["test/hub/**/*.test.ts"],
            exclude,
            globalSetup: ["test/support/hub-server.ts"],
          },
        },
      ],
    },
  };
});
