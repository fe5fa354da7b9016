import { parseArgs } from "node:util";
import { buildPackage } from "./build/package.ts";

/** `npm run build -- [--out DIR]` builds the package: its programs, their types and the licenses of what is bundled. */
const { values } = parseArgs({ options: { out: { type: "string", default: "dist" } } });
await buildPackage(values.out);
