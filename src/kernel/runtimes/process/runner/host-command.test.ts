import { expect, test } from "vitest";
import type { Task } from "../../contract.ts";
import { shellTask } from "../../testing/index.ts";
import { hostCommand } from "./host-command.ts";

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
