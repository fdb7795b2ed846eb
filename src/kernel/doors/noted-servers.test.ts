import { thisProcess } from "#lib/base/index.node.ts";
import { chmod, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { meantOf, notedServers, noteServer } from "./noted-servers.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-noted-"));
});
afterEach(() => rm(root, { recursive: true }));

const tokenFile = "/home/anna/.slipway/wharf/auth-token";
const note = (serves: string, url: string) => ({ serves, url, tokenFile });

test("a server is noted until it takes its note back, with its token file and not with the token", async () => {
  const directories = [join(root, "slipway")];
  const takeBack = await noteServer(directories, note("provisioner", "http://0.0.0.0:5009"));
  await noteServer(directories, note("wharf-api", "http://127.0.0.1:5001"));
  const owner = thisProcess();
  const found = await notedServers(directories);
  expect(found).toHaveLength(2);
  expect(found).toContainEqual({ ...note("wharf-api", "http://127.0.0.1:5001"), owner });
  expect(found).toContainEqual({ ...note("provisioner", "http://127.0.0.1:5009"), owner });
  await takeBack?.();
  expect(await notedServers(directories)).toMatchObject([{ serves: "wharf-api" }]);
});

test("the server that is meant is the only one, or the one at the usual address", async () => {
  const at = (port: number) => ({ ...note("provisioner", `http://127.0.0.1:${port}`), owner: thisProcess() });
  const usual = "http://127.0.0.1:5009";
  expect(meantOf([at(1)], usual)).toEqual(at(1));
  expect(meantOf([at(1), at(5009)], usual)).toEqual(at(5009));
  expect(meantOf([at(1), at(2)], usual)).toEqual([at(1), at(2)]);
  expect(meantOf([], usual)).toEqual([]);
});

test("of a server that was killed, of another machine and of a torn file nothing is told, and the next server removes what is dead", async () => {
  const directories = [root];
  const noteOf = (owner: object) => JSON.stringify({ ...note("wharf-api", "http://127.0.0.1:5001"), owner });
  // No process has such a number.
  await writeFile(join(root, "dead.server.json"), noteOf({ ...thisProcess(), pid: 2 ** 22 + 1 }));
  await writeFile(join(root, "elsewhere.server.json"), noteOf({ ...thisProcess(), host: `not-${hostname()}` }));
  await writeFile(join(root, "torn.server.json"), noteOf(thisProcess()).slice(0, 40));
  expect(await notedServers(directories)).toEqual([]);
  await noteServer(directories, note("provisioner", "http://127.0.0.1:5009"));
  expect(await notedServers(directories)).toMatchObject([{ serves: "provisioner" }]);
  expect(await readdir(root)).not.toContain("dead.server.json");
});

test("a directory that others can write to, or that is a link, is left for the next one and believed by nobody", async () => {
  const [open, linked, own] = [join(root, "open"), join(root, "linked"), join(root, "own")];
  await noteServer([open], note("provisioner", "http://127.0.0.1:1"));
  await chmod(open, 0o777);
  await symlink(own, linked);
  await noteServer([open, linked, own], note("provisioner", "http://127.0.0.1:2"));
  expect(await notedServers([open, linked])).toEqual([]);
  expect(await notedServers([own])).toMatchObject([{ url: "http://127.0.0.1:2" }]);
  expect(await noteServer([open, linked], note("provisioner", "http://127.0.0.1:3"))).toBeUndefined();
});
