import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { noteServer } from "#kernel/doors/index.ts";
import { environmentIn, rushedClock } from "./testing/index.ts";
import { findServer, noteDirectories, type SoughtServer } from "./find-server.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "slipway-servers-"));
});
afterEach(() => rm(home, { recursive: true }));

const usual = "http://127.0.0.1:5009";
const environment = () => environmentIn(home, { variables: { XDG_RUNTIME_DIR: home, TMPDIR: home } });
const opens = "slipway up serves it";
const find = async (more: Partial<SoughtServer> = {}) =>
  await findServer({ serves: "provisioner", flag: "--url", usual, opens, ...more }, environment(), {
    clock: rushedClock(),
    signal: undefined,
  });
async function note(port: number, token = "ours"): Promise<string> {
  const tokenFile = join(home, token);
  await writeFile(tokenFile, token);
  const noted = { serves: "provisioner", url: `http://127.0.0.1:${port}`, tokenFile };
  await noteServer(noteDirectories(environment()), noted);
  return tokenFile;
}

test("the server of this user is found with its token file; without one, people hear what opens it", async () => {
  await expect(find()).rejects.toMatchObject({
    message: "this user runs no provisioner on this machine",
    hint: "slipway up serves it\nor name one: --url http://127.0.0.1:5009",
  });
  const tokenFile = await note(4001);
  expect(await find()).toEqual({ url: "http://127.0.0.1:4001", tokenFile });
  await expect(find({ serves: "wharf-api" })).rejects.toThrow("runs no wharf-api");
});

test("a server that is starting is waited for", async () => {
  const clock = new FakeClock();
  const sought = { serves: "provisioner", flag: "--url", usual, opens };
  const found = findServer(sought, environment(), { clock, signal: undefined });
  await clock.advance(2000);
  const tokenFile = await note(4001);
  await clock.advance(100);
  expect(await found).toEqual({ url: "http://127.0.0.1:4001", tokenFile });
});

test("a token that was named is presented to the server that requires it, or to the address that was named", async () => {
  const [ours, theirs] = [await note(4001), await note(4002, "theirs")];
  const copy = join(home, "copy");
  await writeFile(copy, "theirs");
  expect(await find({ tokenFile: copy })).toEqual({ url: "http://127.0.0.1:4002", tokenFile: copy });
  await writeFile(copy, "nobodys");
  await expect(find({ tokenFile: copy })).rejects.toThrow("this user runs no provisioner with this token");
  const url = "http://127.0.0.1:4002/";
  expect(await find({ url, tokenFile: ours })).toEqual({ url, tokenFile: ours });
  expect(await find({ url })).toEqual({ url, tokenFile: theirs });
  expect(await find({ url: "http://127.0.0.1:1" })).toEqual({ url: "http://127.0.0.1:1", tokenFile: undefined });
  // By name, and at the address of the note: another user may have the port of the other address of that name.
  expect(await find({ url: "http://localhost:4002/" })).toEqual({ url, tokenFile: theirs });
  expect(await find({ url: "http://[::1]:4002" })).toEqual({ url: "http://[::1]:4002", tokenFile: undefined });
});

test("of several servers the one at the usual address is meant; without it one has to be named", async () => {
  await note(4001);
  await note(4002);
  await expect(find()).rejects.toThrow(/several servers run here: http:.*:400[12], http:.*:400[12]/);
  await note(5009);
  expect(await find()).toMatchObject({ url: usual });
});

test("notes are in the user's runtime directory, or in one of the user's own below the temporary one", () => {
  const own = `slipway-${process.getuid?.() ?? 0}`;
  const at = (variables: Record<string, string>) => noteDirectories(environmentIn("/", { variables }));
  expect(at({ XDG_RUNTIME_DIR: "/run/user/7", TMPDIR: "/var/tmp" })).toEqual([
    "/run/user/7/slipway",
    `/var/tmp/${own}`,
  ]);
  expect(at({ XDG_RUNTIME_DIR: "relative" })).toEqual([`/tmp/${own}`]);
});
