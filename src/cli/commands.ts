import type { AnyCommand, CommandGroup } from "./command.ts";
import { backupCommand } from "./commands/backup.ts";
import { chatCommand } from "./commands/chat.ts";
import { completionCommand } from "./commands/completion.ts";
import { demoCommand } from "./commands/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { excludeCommand } from "./commands/exclude.ts";
import { expandCommand } from "./commands/expand.ts";
import { exportCommand } from "./commands/export.ts";
import { forestCommand } from "./commands/forest.ts";
import { forgetCommand } from "./commands/forget.ts";
import { forkCommand } from "./commands/fork.ts";
import { hideCommand } from "./commands/hide.ts";
import { homeCommand } from "./commands/home.ts";
import { hookCommand } from "./commands/hook.ts";
import { hubCommand } from "./commands/hub.ts";
import { importCommand } from "./commands/import.ts";
import { lostCommand } from "./commands/lost.ts";
import { mcpCommand } from "./commands/mcp.ts";
import { nameCommand } from "./commands/name.ts";
import { fileCommand, fixCommand, frictionCommand, howCommand } from "./commands/past-work.ts";
import { projectsCommand } from "./commands/projects.ts";
import { pullCommand } from "./commands/pull.ts";
import { pushCommand } from "./commands/push.ts";
import { recallCommand } from "./commands/recall.ts";
import { recapCommand } from "./commands/recap.ts";
import { reembedCommand } from "./commands/reembed.ts";
import { remoteCommand } from "./commands/remote.ts";
import { resumeCommand } from "./commands/resume.ts";
import { rewindCommand } from "./commands/rewind.ts";
import { secretsCommand } from "./commands/secrets.ts";
import { sessionsCommand } from "./commands/sessions.ts";
import { setupCommand } from "./commands/setup.ts";
import { showCommand } from "./commands/show.ts";
import { sqlCommand } from "./commands/sql.ts";
import { statsCommand } from "./commands/stats.ts";
import { subjectCommand } from "./commands/subject.ts";
import { subjectsCommand } from "./commands/subjects.ts";
import { tagCommand } from "./commands/tag.ts";
import { undoCommand } from "./commands/undo.ts";
import { verifyCommand } from "./commands/verify.ts";
import { viewCommand } from "./commands/view.ts";
import { watchCommand } from "./commands/watch.ts";

/** Every command, in the order in which help lists them. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    heading: "Import and continue",
    commands: [
      homeCommand,
      demoCommand,
      setupCommand,
      importCommand,
      watchCommand,
      hookCommand,
      mcpCommand,
      chatCommand,
    ],
  },
  {
    heading: "Find and read",
    commands: [
      sessionsCommand,
      nameCommand,
      tagCommand,
      hideCommand,
      showCommand,
      recallCommand,
      expandCommand,
      resumeCommand,
      forestCommand,
      subjectsCommand,
      subjectCommand,
      recapCommand,
      fileCommand,
      fixCommand,
      howCommand,
      frictionCommand,
      lostCommand,
      viewCommand,
      sqlCommand,
      exportCommand,
    ],
  },
  {
    heading: "Maintain the store",
    commands: [
      statsCommand,
      doctorCommand,
      verifyCommand,
      backupCommand,
      reembedCommand,
      rewindCommand,
      undoCommand,
      forkCommand,
      forgetCommand,
      secretsCommand,
      excludeCommand,
      projectsCommand,
    ],
  },
  { heading: "Share with a team", commands: [remoteCommand, pushCommand, pullCommand, hubCommand] },
  {
    heading: "Help",
    commands: [completionCommand((): AnyCommand[] => COMMAND_GROUPS.flatMap(({ commands }) => commands))],
  },
];
