import { readFileSync } from "node:fs";

const PACKAGE = new URL("../../package.json", import.meta.url);

/** The version of this package. The build replaces this module by its value. */
export const VERSION: string = JSON.parse(readFileSync(PACKAGE, "utf8")).version;
