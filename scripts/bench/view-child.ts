import { serveView } from "../../src/view/index.ts";

// Serves a store for the benchmark, and tells how much processor time that took.
const view = await serveView(process.argv[2]!);
process.send!(view.url);
process.on("message", () => process.send!(process.cpuUsage()));
process.on("disconnect", () => process.exit());
