import { appendFileSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeEach } from "vitest";

const children = () => {
  const s = readFileSync("/proc/self/stat", "latin1");
  const f = s.slice(s.lastIndexOf(")") + 2).split(" ");
  return (Number(f[13]) + Number(f[14])) * 0.01;
};
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + children();
};
let t = 0;
const f = cpu();
let path = "";
beforeEach(() => {
  t = cpu();
});
afterEach((c) => {
  path = c.task.file.name;
  appendFileSync("/tmp/t4/cpu.log", `${(cpu() - t).toFixed(2)}\t${path}\t${c.task.name}\n`);
});
afterAll(() => {
  appendFileSync("/tmp/t4/cpu.log", `${(cpu() - f).toFixed(2)}\tFILE\t${path}\n`);
});
