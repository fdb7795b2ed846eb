import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { refuseShared } from "./private-path.node.ts";

test("what belongs to another user is refused, however closed it is", async () => {
  const own = await mkdtemp(join(tmpdir(), "slipway-private-"));
  await refuseShared(own);
  // Only root can give something away, and to everybody else his things are another's.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(own, 65534, 65534);
  const foreign = isRoot ? own : "/";
  await expect(refuseShared(foreign)).rejects.toMatchObject({
    code: "insecure-permissions",
    message: expect.stringContaining(`${foreign} belongs to another user`),
  });
  await rm(own, { recursive: true });
});
