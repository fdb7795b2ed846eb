import { expect, test } from "vitest";
import type { Task } from "../../contract.ts";
import { shellTask } from "../../testing/index.ts";
import { capabilitiesWith, hostCommand, onceFoundTools } from "./host-command.ts";

const tools = { unshare: "/u", mount: "/m", setpriv: "/s", shell: "/sh" };
const task = (more: Partial<Task> = {}): Task => ({ ...shellTask("/work", "id", "true"), ...more });

test("a task without mounts is started as it is", () => {
  expect(hostCommand(task({ user: { uid: 5, gid: 6 } }), tools)).toEqual({
    program: "/bin/sh",
    args: ["-c", "true"],
    cwd: "/work",
    user: { uid: 5, gid: 6 },
    reportsOn3: false,
  });
});

test("a task with mounts becomes its user only after mounting", () => {
  const mounts = [{ source: "/a", target: "/b", readOnly: true }];
  const { program, args, user } = hostCommand(task({ mounts, user: { uid: 5, gid: 6 } }), tools);
  expect(program).toBe("/u");
  expect(user).toBeUndefined();
  const asUser = ["/s", "--reuid=5", "--regid=6", "--clear-groups", "--"];
  expect(args.slice(-13)).toEqual(["/work", "/a", "/b", "ro", "--", ...asUser, "/bin/sh", "-c", "true"].slice(-13));
});

test("mounts stand in the order of the task, each with its mode, before the command", () => {
  const mounts = [
    { source: "/a b", target: "/x", readOnly: false },
    { source: "/c", target: "/x/$(y)", readOnly: true },
  ];
  const { program, args, cwd, reportsOn3 } = hostCommand(task({ mounts, command: ["p", "--", "'q'"] }), tools);
  expect([program, cwd, reportsOn3]).toEqual(["/u", "/", true]);
  const inside = args.slice(args.indexOf("slipway"));
  expect(inside).toEqual(["slipway", "/work", "/a b", "/x", "rw", "/c", "/x/$(y)", "ro", "--", "p", "--", "'q'"]);
});

test("nothing of the task is part of the script that root's shell reads", () => {
  const mounts = [{ source: "/$(reboot)", target: "/`reboot`", readOnly: true }];
  const { args } = hostCommand(task({ mounts, command: ["; reboot"], workingDirectory: "/reboot" }), tools);
  const script = args[args.indexOf("-c") + 1];
  expect(script).not.toContain("reboot");
  expect(script).toBe(
    hostCommand(task({ mounts: [{ source: "/a", target: "/b", readOnly: false }] }), tools).args[
      args.indexOf("-c") + 1
    ],
  );
});

test("no mounts need no tools, and without tools there are no mounts", () => {
  expect(hostCommand(task({ mounts: [] }), tools).program).toBe("/bin/sh");
  expect(hostCommand(task(), undefined).reportsOn3).toBe(false);
});

test("what host processes can be given is told by whether mounting is possible, and why not", () => {
  expect(capabilitiesWith(tools)).toMatchObject({ images: false, limits: false, mounts: { supported: true } });
  expect(capabilitiesWith("no util-linux").mounts).toEqual({ supported: false, reason: "no util-linux" });
  expect(capabilitiesWith(tools).users).toBe(process.getuid?.() === 0);
});

test("the tools are looked for once", async () => {
  const find = onceFoundTools();
  const found = find();
  expect(find()).toBe(found);
  const answer = await found;
  if (typeof answer === "string") expect(answer).toMatch(/^[a-z].*[^.]$/);
  else for (const program of Object.values(answer)) expect(program).toMatch(/^\//);
});
