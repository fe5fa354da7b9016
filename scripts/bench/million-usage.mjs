import { writeFileSync } from "node:fs";

/** Writes the time and memory of the whole process when it ends. Node loads this file before the program. */
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  const used = { ms: performance.now(), cpuMs: (user + system) / 1000, mb: process.resourceUsage().maxRSS / 1024 };
  writeFileSync(process.env.COPPICE_BENCH_USAGE, JSON.stringify(used));
});
