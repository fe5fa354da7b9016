import type { Reporter, TestModule } from "vitest/node";

/** Names the files that were being run when a worker died. Vitest only says that one did. */
export class UnfinishedFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const unfinished = modules.filter((file) => ["queued", "pending"].includes(file.state()));
    for (const { project, relativeModuleId } of unfinished) {
      console.error(`${relativeModuleId} (${project.name}) has not finished.`);
    }
  }
}
