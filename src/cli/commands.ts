import type { AnyCommand, CommandGroup } from "./command.ts";
import { askCommand } from "./commands/ask.ts";
import { backupCommand, restoreCommand } from "./commands/backup.ts";
import { completionCommand } from "./commands/completion.ts";
import { demoCommand } from "./commands/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { expandCommand } from "./commands/expand.ts";
import { exportCommand } from "./commands/export.ts";
import { forestCommand } from "./commands/forest.ts";
import { forgetCommand } from "./commands/forget.ts";
import { homeCommand } from "./commands/home.ts";
import { hookCommand } from "./commands/hook.ts";
import { hubCommand } from "./commands/hub.ts";
import { importCommand } from "./commands/import.ts";
import { lostCommand } from "./commands/lost.ts";
import { mcpCommand } from "./commands/mcp.ts";
import { fileCommand, fixCommand, howCommand } from "./commands/past-work.ts";
import { projectsCommand } from "./commands/projects.ts";
import { recallCommand } from "./commands/recall.ts";
import { recapCommand } from "./commands/recap.ts";
import { reembedCommand } from "./commands/reembed.ts";
import { rememberCommand } from "./commands/remember.ts";
import { resumeCommand } from "./commands/resume.ts";
import { rewindCommand } from "./commands/rewind.ts";
import { sessionsCommand } from "./commands/sessions.ts";
import { setupCommand } from "./commands/setup.ts";
import { showCommand } from "./commands/show.ts";
import { sqlCommand } from "./commands/sql.ts";
import { subjectsCommand } from "./commands/subjects.ts";
import { verifyCommand } from "./commands/verify.ts";
import { viewCommand } from "./commands/view.ts";
import { watchCommand } from "./commands/watch.ts";

/** Every command, in the order in which help lists them. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    heading: "Import and continue",
    commands: [homeCommand, demoCommand, setupCommand, importCommand, watchCommand, hookCommand, mcpCommand],
  },
  {
    heading: "Find and read",
    commands: [
      sessionsCommand,
      showCommand,
      recallCommand,
      rememberCommand,
      askCommand,
      expandCommand,
      resumeCommand,
      forestCommand,
      subjectsCommand,
      recapCommand,
      fileCommand,
      fixCommand,
      howCommand,
      lostCommand,
      viewCommand,
      sqlCommand,
      exportCommand,
    ],
  },
  {
    heading: "Maintain the store",
    commands: [
      doctorCommand,
      verifyCommand,
      backupCommand,
      restoreCommand,
      reembedCommand,
      rewindCommand,
      forgetCommand,
      projectsCommand,
    ],
  },
  { heading: "Share with a team", commands: [hubCommand] },
  {
    heading: "Help",
    commands: [completionCommand((): AnyCommand[] => COMMAND_GROUPS.flatMap(({ commands }) => commands))],
  },
];
