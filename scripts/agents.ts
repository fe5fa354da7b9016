import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { REAL_AGENTS } from "./agents/agents.ts";
import { installAgents, versionOf } from "./agents/install.ts";
import { FakeProvider } from "./agents/provider.ts";
import { type Trial, tryAgent } from "./agents/trial.ts";

const PROGRAM = fileURLToPath(new URL("../dist/coppice.cjs", import.meta.url));

/**
 * `npm run agents -- [AGENT …] [--folder DIR] [--coppice FILE] [--json]` connects real agents with Coppice and runs them against a
 * provider on loopback. The first run installs them from npm, outside the repository; after that nothing leaves the machine.
 * `trial.ts` says what is tried. `DIR/runs` keeps the homes of the agents with their transcripts.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    folder: {
      type: "string",
      default: join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "coppice-agents"),
    },
    coppice: { type: "string", default: PROGRAM },
    json: { type: "boolean", default: false },
  },
});
const folder = resolve(values.folder);
const agents = REAL_AGENTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
installAgents(folder);
const provider = await FakeProvider.start();
const trials: Trial[] = [];
for (const agent of agents) {
  const trial = await tryAgent(agent, folder, resolve(values.coppice), provider);
  trials.push(trial);
  if (!values.json) {
    const { agent: name, seconds, notes, ...figures } = trial;
    console.log(`${name} ${versionOf(agent.package)}, ${seconds} s`);
    for (const [figure, value] of Object.entries(figures))
      console.log(`  ${figure.padEnd(14)} ${value ?? "not tried"}`);
    for (const text of notes) console.log(`  ${text}`);
  }
}
provider.stop();
if (values.json) console.log(JSON.stringify({ name: "agents", agents: trials }));
const isPassed = trials.every((trial) => Object.values(trial).every((value) => value !== false));
process.exitCode = isPassed ? 0 : 1;
