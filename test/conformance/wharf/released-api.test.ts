import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openHttpDoor } from "../../../src/dialects/wharf/http/index.ts";
import { TestEngine, TestPlane } from "../../../src/dialects/wharf/testing/plane.ts";
import { isJsonObject, type JsonValue, silentLog, systemClock } from "../../../src/lib/base/index.ts";
import { intended } from "./api-differences.ts";
import { questions, streams } from "./api-questions.ts";
import { type Answer, ask, firstEvent, sendLines } from "./ask-api.ts";

// wharf-api is asked what a released one was asked, and answers as that one did, but for what is meant to be otherwise. How the answers were
// recorded: README.md.

const recording = join(import.meta.dirname, "testdata/released-api/answers.json");
/** Of a server to be recorded, that nobody has asked before. */
const recorded = process.env["SLIPWAY_RECORD_WHARF_API"];

const closers: (() => Promise<void>)[] = [];
let url = "";
beforeAll(async () => {
  const engine = await TestEngine.open();
  closers.push(() => engine.close());
  const plane = await new TestPlane([engine.engine, engine.refusing]).synced();
  closers.push(() => plane.close());
  const serves = async () => ({ fetch: plane.api.fetch, services: plane.services });
  const door = await openHttpDoor({ address: "127.0.0.1:0", clock: systemClock, log: silentLog, drain: 50, serves });
  closers.push(() => door.close());
  url = `http://${door.address}`;
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

type Answers = Readonly<Record<string, Answer>>;

/** What came as messages is read over REST. */
const logOfStream = {
  name: "GET /api/build/3/log: lines that came as messages",
  method: "GET",
  path: "/api/build/3/log",
};

/** Everything, in order. */
async function answersOf(server: string): Promise<Answers> {
  const answers: Record<string, Answer> = {};
  for (const question of questions) {
    expect(answers, "two questions have one name").not.toHaveProperty([question.name]);
    answers[question.name] = await ask(server, question);
  }
  for (const [name, lines] of Object.entries(streams)) {
    answers[`CreateLogStream: ${name}`] = await sendLines(server, lines);
    if (name === "two lines") answers[logOfStream.name] = await ask(server, logOfStream);
  }
  answers["GET /api/build/4/stream: a line"] = await firstEvent(server, 4);
  return answers;
}

test.runIf(recorded !== undefined)("answers of a released server are written down", async () => {
  const answers = await answersOf(recorded ?? "");
  const lines = Object.entries(answers).map(([name, answer]) => `  ${JSON.stringify(name)}: ${JSON.stringify(answer)}`);
  await writeFile(recording, `{\n${lines.join(",\n")}\n}\n`);
});

test("wharf-api answers as a released one, but for what is meant to be otherwise", async () => {
  const theirs = JSON.parse(await readFile(recording, "utf8")) as Answers;
  const ours = await answersOf(url);
  expect(Object.keys(ours)).toEqual(Object.keys(theirs));
  const found = Object.entries(theirs).flatMap(([name, answer]) =>
    differences(answer, ours[name]).map((text) => `${name} | ${text}`),
  );
  const unexplained = found.filter((text) => !intended.some(({ of }) => of.test(text)));
  expect(unexplained).toEqual([]);
  const idle = intended.filter(({ of }) => !found.some((text) => of.test(text)));
  expect(idle).toEqual([]);
});

/** Where two answers differ. Of an answer and a refusal only that they are. */
function differences(theirs: Answer, ours: Answer | undefined): readonly string[] {
  if (ours === undefined) return ["ours is missing"];
  const isRefusal = ({ problem }: Answer): boolean => problem !== undefined;
  if (isRefusal(theirs) !== isRefusal(ours))
    return [`status: ${theirs.status}, ours ${ours.status} ${ours.problem ?? ""}`.trim()];
  return membersOf("", { ...theirs }, { ...ours });
}

function membersOf(path: string, theirs: JsonValue | undefined, ours: JsonValue | undefined): readonly string[] {
  if (isJsonObject(theirs) && isJsonObject(ours))
    return [...new Set([...Object.keys(theirs), ...Object.keys(ours)])].flatMap((name) =>
      membersOf(path === "" ? name : `${path}.${name}`, theirs[name], ours[name]),
    );
  if (Array.isArray(theirs) && Array.isArray(ours) && theirs.some(isJsonObject) && theirs.length === ours.length)
    return theirs.flatMap((item, at) => membersOf(`${path}[${at}]`, item, ours[at]));
  const [text, other] = [theirs, ours].map((value) => (value === undefined ? "nothing" : JSON.stringify(value)));
  return text === other ? [] : [`${path}: ${text}, ours ${other}`];
}
