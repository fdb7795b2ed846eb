import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { hasEnded, identityOf, isAlive, signalGroup } from "./process-identity.node.ts";

const isLinux = process.platform === "linux";
const nobody = 2 ** 30;

test("a process is the same only with its start time and boot", () => {
  const self = identityOf(process.pid);
  expect(isAlive(self)).toBe(true);
  expect(isAlive({ ...self, startTicks: "0" })).toBe(false);
  expect(isAlive({ ...self, boot: "another" })).toBe(false);
  expect(isAlive({ pid: process.pid })).toBe(false);
});

test("another process's number with our start time is not us", () => {
  expect(isAlive({ ...identityOf(process.pid), pid: process.ppid })).toBe(false);
});

test("of a process that does not exist only the number is known", () => {
  expect(identityOf(nobody)).toEqual({ pid: nobody });
  expect(isAlive(identityOf(nobody))).toBe(false);
});

test.skipIf(!isLinux)("the start time is what the kernel says, the boot what it calls itself", () => {
  const { startTicks, boot } = identityOf(process.pid);
  // Our own name holds no parentheses, so here the plain way of counting fields is right.
  expect(startTicks).toBe(readFileSync(`/proc/${process.pid}/stat`, "utf8").split(" ")[21]);
  expect(boot).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
});

test("a process has ended for certain if it is gone or its pid is another's, and never without a start time while it runs", () => {
  const self = identityOf(process.pid);
  expect(hasEnded(self)).toBe(false);
  expect(hasEnded({ ...self, startTicks: "1" })).toBe(true);
  expect(hasEnded({ pid: process.pid })).toBe(false);
  expect(hasEnded({ pid: nobody })).toBe(true);
});

test.skipIf(!isLinux)("a process whose first thread has ended lives as long as another one", async () => {
  const exit = process.arch === "arm64" ? 93 : 60;
  const program = `use threads; $| = 1; threads->create(sub { sleep 600 })->detach; print "ready"; syscall(${exit}, 0)`;
  const child = spawn("perl", ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(child.stdout, "data");
    const self = identityOf(child.pid ?? nobody);
    while (readFileSync(`/proc/${child.pid}/stat`, "utf8").split(" ")[2] !== "Z") await delay(5);
    expect([hasEnded(self), isAlive(self)]).toEqual([false, true]);
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    expect([hasEnded(self), isAlive(self)]).toEqual([true, false]);
  } finally {
    child.kill("SIGKILL");
  }
});

test("a group without processes cannot be signalled", () => {
  expect(signalGroup(nobody, "SIGTERM")).toBe(false);
});

test("a wrong signal is a mistake, not an absent group", () => {
  expect(() => signalGroup(nobody, "SIGNONE" as NodeJS.Signals)).toThrow("Unknown signal");
});
