import { chmod, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { digestOf, notedServers, noteServer } from "./noted-servers.ts";
import { thisProcess } from "./results/owner.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-noted-"));
});
afterEach(() => rm(root, { recursive: true }));

test("a server is noted for as long as it says so, with the digest of its token and not with the token", async () => {
  const directories = [join(root, "slipway")];
  const takeBack = await noteServer(directories, "provisioner", "0.0.0.0:5009", "open-sesame");
  await noteServer(directories, "wharf-api", "127.0.0.1:5001", undefined);
  const owner = thisProcess();
  const found = await notedServers(directories);
  expect(found).toHaveLength(2);
  expect(found).toContainEqual({ serves: "wharf-api", url: "http://127.0.0.1:5001", owner });
  const tokenDigest = digestOf("open-sesame");
  expect(found).toContainEqual({ serves: "provisioner", url: "http://127.0.0.1:5009", tokenDigest, owner });
  expect(JSON.stringify(found)).not.toContain("sesame");
  await takeBack?.();
  expect(await notedServers(directories)).toMatchObject([{ serves: "wharf-api" }]);
});

test("of a server that was killed, of another machine and of a torn file nothing is told, and the next server removes what is dead", async () => {
  const directories = [root];
  const note = (owner: object) => JSON.stringify({ serves: "wharf-api", url: "http://127.0.0.1:5001", owner });
  // No process has such a number.
  await writeFile(join(root, "dead.server.json"), note({ ...thisProcess(), pid: 2 ** 22 + 1 }));
  await writeFile(join(root, "elsewhere.server.json"), note({ ...thisProcess(), host: `not-${hostname()}` }));
  await writeFile(join(root, "torn.server.json"), note(thisProcess()).slice(0, 40));
  expect(await notedServers(directories)).toEqual([]);
  await noteServer(directories, "provisioner", "127.0.0.1:5009", undefined);
  expect(await notedServers(directories)).toMatchObject([{ serves: "provisioner" }]);
  expect(await readdir(root)).not.toContain("dead.server.json");
});

test("a directory that others can write to, or that is a link, is left for the next one and believed by nobody", async () => {
  const [open, linked, own] = [join(root, "open"), join(root, "linked"), join(root, "own")];
  await noteServer([open], "provisioner", "127.0.0.1:1", undefined);
  await chmod(open, 0o777);
  await symlink(own, linked);
  await noteServer([open, linked, own], "provisioner", "127.0.0.1:2", undefined);
  expect(await notedServers([open, linked])).toEqual([]);
  expect(await notedServers([own])).toMatchObject([{ url: "http://127.0.0.1:2" }]);
  expect(await noteServer([open, linked], "provisioner", "127.0.0.1:3", undefined)).toBeUndefined();
});
