import { join } from "node:path";
import type { Machine } from "../core/data-folder.ts";
import { ownFile } from "./edits.ts";
import { callOf, type OwnCommand, shellLine } from "./own-command.ts";
import { folderIn, type Target } from "./target.ts";

const LABEL = "coppice-watch";

/** Returns the target that runs `coppice watch` as a service. A login shell of the user starts it, so it has a terminal's `$PATH`. */
export function watchService(platform: NodeJS.Platform): Target | undefined {
  if (platform === "linux") return systemd;
  if (platform === "darwin") return launchd;
  return undefined;
}

function shellWords({ env }: Machine, command: OwnCommand): string[] {
  return [env.SHELL || "/bin/sh", "-ilc", `exec ${shellLine(callOf(command, "watch", "--yes", "--quiet"))}`];
}

const systemd: Target = {
  name: "watch",
  title: "Watch service",
  isUsed: () => false,
  edits(machine, command) {
    const words = shellWords(machine, command).map((word) =>
      JSON.stringify(word.replaceAll("%", "%%").replaceAll("$", "$$$$")),
    );
    const unit = `[Unit]
Description=Coppice follows the transcripts of agents

[Service]
ExecStart=${words.join(" ")}
Restart=on-failure
RestartSec=30
Nice=10

[Install]
WantedBy=default.target
`;
    const folder = join(folderIn(machine, "XDG_CONFIG_HOME", join(machine.home, ".config")), "systemd", "user");
    return [ownFile(join(folder, `${LABEL}.service`), unit)];
  },
  service: () => ({
    start: [
      ["systemctl", "--user", "daemon-reload"],
      ["systemctl", "--user", "enable", "--now", `${LABEL}.service`],
    ],
    stop: [["systemctl", "--user", "disable", "--now", `${LABEL}.service`]],
  }),
};

const launchd: Target = {
  name: "watch",
  title: "Watch service",
  isUsed: () => false,
  edits(machine, command) {
    const words = shellWords(machine, command).map((word) => `    <string>${escaped(word)}</string>\n`);
    const plist = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words.join("")}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
</dict>
</plist>
`;
    return [ownFile(join(machine.home, "Library", "LaunchAgents", `${LABEL}.plist`), plist)];
  },
  service: ([path = ""]) => ({
    start: [["launchctl", "load", "-w", path]],
    stop: [["launchctl", "unload", "-w", path]],
  }),
};

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
