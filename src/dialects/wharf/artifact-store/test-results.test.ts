import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openFilesBelow } from "#test/support/open-files.ts";
import { inDirectory } from "../log-store/testing/log-lines.ts";
import type { TestDetail } from "./test-detail.ts";
import { countTests, testDetails } from "./test-results.ts";

const trx = `\u{feff}<?xml version="1.0" encoding="utf-8"?>
<TestRun id="1" xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
  <Results>
    <UnitTestResult testName="A.passes" outcome="Passed" startTime="2026-01-31T12:00:00.1234567+01:00" endTime="2026-01-31T12:00:01+01:00">
      <Output><StdOut>noise</StdOut></Output>
    </UnitTestResult>
    <UnitTestResult testName="A.fails &lt;int&gt;" outcome="Failed" startTime="soon">
      <Output><ErrorInfo><Message>expected 1</Message><StackTrace>at A<![CDATA[ <b>]]></StackTrace></ErrorInfo></Output>
    </UnitTestResult>
    <UnitTestResult testName="A.skipped" outcome="NotExecuted"><Output><ErrorInfo><Message>later</Message></ErrorInfo></Output></UnitTestResult>
  </Results>
  <ResultSummary outcome="Failed"><Counters total="4" executed="2" passed="1" failed="1" notExecuted="2" /></ResultSummary>
</TestRun>`;

const junit = `<testsuites><testsuite name="s" timestamp="2026-01-31T12:00:00">
  <testcase classname="c.D" name="one" time="1.5"/>
  <testcase name="two"><failure message="no">stack
line</failure><skipped/></testcase>
  <testcase classname="c" name="three"><skipped message="not now"/></testcase>
  <testcase name="four"><error>boom</error><system-out>noise</system-out></testcase>
</testsuite></testsuites>`;

/** What is in a file of this content. */
async function read(content: string | Buffer) {
  const details: TestDetail[] = [];
  let counts: unknown;
  await inDirectory(async (directory) => {
    const path = join(directory, "results.xml");
    await writeFile(path, content);
    counts = await countTests(path);
    if (typeof counts === "object" && counts !== null && "problem" in counts) return;
    for await (const page of testDetails(path)) details.push(...page);
  });
  return { details, counts };
}

test.each([
  ["UTF-8", Buffer.from(trx)],
  ["UTF-16", Buffer.from(trx, "utf16le")],
])("TRX in %s: counts are those of the file, messages have the stack", async (_encoding, content) => {
  const { details, counts } = await read(content);
  expect(counts).toEqual({ total: 4, passed: 1, failed: 1, skipped: 2, details: 3 });
  expect(details).toEqual([
    {
      name: "A.passes",
      message: "",
      status: "Success",
      startedOn: "2026-01-31T12:00:00.1234567+01:00",
      completedOn: "2026-01-31T12:00:01+01:00",
    },
    { name: "A.fails <int>", message: "expected 1\nat A <b>", status: "Failed", startedOn: null, completedOn: null },
    { name: "A.skipped", message: "later", status: "Skipped", startedOn: null, completedOn: null },
  ]);
});

test("JUnit: counts are those of its cases", async () => {
  const { details, counts } = await read(junit);
  expect(counts).toEqual({ total: 4, passed: 1, failed: 2, skipped: 1, details: 4 });
  expect(details.map(({ name, status, message }) => [name, status, message])).toEqual([
    ["c.D.one", "Success", ""],
    ["two", "Failed", "no\nstack\nline"],
    ["c.three", "Skipped", "not now"],
    ["four", "Failed", "boom"],
  ]);
  expect(details[0]).toMatchObject({ startedOn: "2026-01-31T12:00:00Z", completedOn: "2026-01-31T12:00:01.500Z" });
});

test.each([
  ["nothing", ""],
  ["text", "no tests today"],
  ["another format", "<html><body/></html>"],
  ["a file that breaks off", trx.slice(0, trx.indexOf("<ResultSummary"))],
  ["entities of its own", '<!DOCTYPE t [<!ENTITY a "b">]><testsuite><testcase name="&a;"/></testsuite>'],
  ["elements inside each other", `<testsuite>${"<a>".repeat(300)}${"</a>".repeat(300)}</testsuite>`],
  ["one endless piece", `<testsuite><a b="${"x".repeat(17 * 1024 * 1024)}"/></testsuite>`],
])("%s is no file of test results", async (_what, content) => {
  expect((await read(content)).counts).toHaveProperty("problem");
});

test("long messages are cut, and long files read in pieces", async () => {
  const failure = `<testcase name="n"><failure>${"m".repeat(100_000)}</failure></testcase>`;
  const { details } = await read(
    `<testsuite>${failure.repeat(20)}${'<testcase name="x"/>'.repeat(50_000)}</testsuite>`,
  );
  expect(details).toHaveLength(50_020);
  expect(details[0]?.message.length).toBe(64 * 1024);
});

test("a file with more tests than are counted is told, and not left open", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "results.xml");
    // More than is read at once.
    await writeFile(path, `<testsuite>${'<testcase name="one"/>'.repeat(20_000)}</testsuite>`);
    expect(await countTests(path, 10)).toEqual({ problem: "expected at most 10 tests, found more" });
    expect(await openFilesBelow(directory)).toEqual([]);
  }));
