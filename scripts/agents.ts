import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { REAL_AGENTS } from "./agents/agents.ts";
import { ASKED_AGENTS, type AskTrial, tryAsk } from "./agents/ask-trial.ts";
import { installAgents, versionOf } from "./agents/install.ts";
import { FakeProvider } from "./agents/provider.ts";
import { type Trial, tryAgent } from "./agents/trial.ts";

const PROGRAM = fileURLToPath(new URL("../dist/coppice.cjs", import.meta.url));

/**
 * `npm run agents -- [AGENT …] [--folder DIR] [--coppice FILE] [--json]` connects real agents with Coppice and runs them against a
 * provider on loopback. With `--ask`, `coppice ask` calls them instead (`ask-trial.ts`). The first run installs them from npm, outside the repository; after that nothing leaves the machine.
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
    ask: { type: "boolean", default: false },
  },
});
const folder = resolve(values.folder);
const isWanted = (name: string): boolean => positionals.length === 0 || positionals.includes(name);
installAgents(folder);
const provider = await FakeProvider.start();
const coppice = resolve(values.coppice);
const runs = values.ask
  ? ASKED_AGENTS.filter(({ program }) => isWanted(program)).map(
      (agent) => () => tryAsk(agent, folder, coppice, provider),
    )
  : REAL_AGENTS.filter(({ name }) => isWanted(name)).map((agent) => () => tryAgent(agent, folder, coppice, provider));
const trials: (Trial | AskTrial)[] = [];
for (const run of runs) {
  const trial = await run();
  trials.push(trial);
  if (!values.json) {
    const { agent: name, seconds, notes, ...figures } = trial;
    const { package: installed } = REAL_AGENTS.find((agent) => agent.name === name) ?? {};
    console.log(`${[name, installed && versionOf(installed)].filter(Boolean).join(" ")}, ${seconds} s`);
    for (const [figure, value] of Object.entries(figures))
      console.log(`  ${figure.padEnd(14)} ${value ?? "not tried"}`);
    for (const text of notes) console.log(`  ${text}`);
  }
}
provider.stop();
if (values.json) console.log(JSON.stringify({ name: "agents", agents: trials }));
const isPassed = trials.every((trial) => Object.values(trial).every((value) => value !== false));
process.exitCode = isPassed ? 0 : 1;
