import type { CommandGroup } from "./command.ts";
import { backup } from "./commands/backup.ts";
import { chat } from "./commands/chat.ts";
import { doctor } from "./commands/doctor.ts";
import { expand } from "./commands/expand.ts";
import { exportCommand } from "./commands/export.ts";
import { forest } from "./commands/forest.ts";
import { forget } from "./commands/forget.ts";
import { importCommand } from "./commands/import.ts";
import { mcp } from "./commands/mcp.ts";
import { recall } from "./commands/recall.ts";
import { reembed } from "./commands/reembed.ts";
import { resume } from "./commands/resume.ts";
import { sessions } from "./commands/sessions.ts";
import { show } from "./commands/show.ts";
import { sql } from "./commands/sql.ts";
import { stats } from "./commands/stats.ts";
import { subjects } from "./commands/subjects.ts";
import { verify } from "./commands/verify.ts";
import { watchCommand } from "./commands/watch.ts";

/** Every command, in the order in which help lists them. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  { heading: "Bring in and carry on", commands: [importCommand, watchCommand, mcp, chat] },
  {
    heading: "Find and read",
    commands: [sessions, show, recall, expand, resume, forest, subjects, sql, exportCommand],
  },
  { heading: "Look after the store", commands: [stats, doctor, verify, backup, reembed, forget] },
];
