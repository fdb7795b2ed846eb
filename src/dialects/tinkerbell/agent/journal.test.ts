import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { advance, idle } from "./agent-state.ts";
import { fileJournal } from "./journal.ts";
import { agentWorkflow } from "./testing/executions.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-agent-journal-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const { state } = advance(idle, { is: "start", workflow: agentWorkflow("w", "one") });

test("what was written last is read, by its user alone; a new agent is idle", async () => {
  const place = join(directory, "new");
  expect(await fileJournal(place).read()).toEqual(idle);
  await fileJournal(place).write(idle);
  await fileJournal(place).write(state);
  expect(await fileJournal(place).read()).toEqual(state);
  expect(await readdir(place)).toEqual(["current.json"]);
  expect((await stat(join(place, "current.json"))).mode & 0o777).toBe(0o600);
});

test("a file that was half written beside it changes nothing", async () => {
  await fileJournal(directory).write(state);
  await writeFile(join(directory, "current.json.next"), '{"format":');
  expect(await fileJournal(directory).read()).toEqual(state);
  await fileJournal(directory).write(idle);
  expect(await fileJournal(directory).read()).toEqual(idle);
});

test.each(["", "{", "[]", '{"format":2,"state":{}}', '{"format":1}'])("%j is refused, not forgotten", async (text) => {
  await writeFile(join(directory, "current.json"), text);
  await expect(fileJournal(directory).read()).rejects.toMatchObject({ code: "agent-journal" });
});
