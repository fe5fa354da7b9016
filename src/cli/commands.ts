import type { CommandGroup } from "./command.ts";

/**
 * Every command, in the order in which help lists them. A command's own module holds its options and what it does, and is
 * loaded when the command is typed or explained.
 */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    heading: "Import and continue",
    commands: [
      {
        usage: "import [paths...]",
        summary: "Import transcripts of other programs, and summarize them.",
        load: () => import("./commands/import.ts"),
      },
      {
        usage: "watch [paths...]",
        summary: "Follow the transcripts of agents and keep the store current.",
        load: () => import("./commands/watch.ts"),
      },
      {
        usage: "mcp",
        summary: "Serve the store to an agent, as an MCP server on stdin and stdout.",
        load: () => import("./commands/mcp.ts"),
      },
      {
        usage: "chat [session]",
        summary: "Talk to Gemini in a session that forgets nothing.",
        load: () => import("./commands/chat.ts"),
      },
    ],
  },
  {
    heading: "Find and read",
    commands: [
      {
        usage: "sessions",
        summary: "List the sessions, the most recently used first.",
        load: () => import("./commands/sessions.ts"),
      },
      {
        usage: "show <session>",
        summary: "Print a session's messages word for word, oldest first.",
        load: () => import("./commands/show.ts"),
      },
      {
        usage: "recall <query...>",
        summary: "Find the messages that answer a question, in all sessions, best first.",
        load: () => import("./commands/recall.ts"),
      },
      {
        usage: "expand <target>",
        summary: "Print the original messages behind a subject, theme, cluster, span or step.",
        load: () => import("./commands/expand.ts"),
      },
      {
        usage: "resume <session>",
        summary: "Print the context for a session's next model call.",
        load: () => import("./commands/resume.ts"),
      },
      {
        usage: "forest <session>",
        summary: "Draw a session's forest: themes, their clusters, and the hot window.",
        load: () => import("./commands/forest.ts"),
      },
      {
        usage: "subjects",
        summary: "List the subjects that came up in several sessions.",
        load: () => import("./commands/subjects.ts"),
      },
      {
        usage: "sql <query>",
        summary: "Run one read-only SQL query.",
        load: () => import("./commands/sql.ts"),
      },
      {
        usage: "export [sessions...]",
        summary: "Print sessions as neutral JSONL, which `import` reads.",
        load: () => import("./commands/export.ts"),
      },
    ],
  },
  {
    heading: "Maintain the store",
    commands: [
      {
        usage: "stats",
        summary: "Print counts and sizes of the store.",
        load: () => import("./commands/stats.ts"),
      },
      {
        usage: "doctor",
        summary: "Report what is wrong with the store, and how to fix it.",
        load: () => import("./commands/doctor.ts"),
      },
      {
        usage: "verify",
        summary: "Check the messages, and that the forest agrees with the log.",
        load: () => import("./commands/verify.ts"),
      },
      {
        usage: "backup <file>",
        summary: "Copy the store to another file and check the copy, while others keep writing.",
        load: () => import("./commands/backup.ts"),
      },
      {
        usage: "reembed",
        summary: "Grow the forest again with another embedder, while the store stays in use.",
        load: () => import("./commands/reembed.ts"),
      },
      {
        usage: "forget <session>",
        summary: "Delete a session, or some of its messages, permanently.",
        load: () => import("./commands/forget.ts"),
      },
    ],
  },
];
