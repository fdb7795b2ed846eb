import { codeOf, messageOf, formatInstant, parseInstant } from "#lib/base/index.ts";
import type { TestCounts } from "./artifact-list.ts";
import { artifactError } from "./errors.ts";
import { readXml } from "./read-xml.ts";
import { type TestDetail, type TestReader, MessageText, type TestStatus, timeOf } from "./test-detail.ts";

const mostDetails = 1_000_000;

/** Streams the tests of a TRX or JUnit file, known by its root element, and returns the file's own counts. Throws
 * `test-results` for other files. */
export async function* testDetails(path: string): AsyncGenerator<readonly TestDetail[], TestCounts | undefined> {
  let reader: TestReader | undefined;
  const pieces = readXml(path, {
    open: (name, attributes) => (reader ??= readerFor(name)).open(name, attributes),
    text: (text) => reader?.text(text),
    close: (name) => reader?.close(name),
  });
  for await (const _ of pieces) {
    const details = reader?.take() ?? [];
    if (details.length > 0) yield details;
  }
  return reader?.counts();
}

function readerFor(root: string): TestReader {
  if (root === "TestRun") return new TrxReader();
  if (root === "testsuites" || root === "testsuite") return new JunitReader();
  throw new Error(
    `expected TRX (TestRun) or JUnit (testsuites), found the element ${JSON.stringify(root.slice(0, 100))}`,
  );
}

export async function countTests(
  path: string,
  most = mostDetails,
): Promise<(TestCounts & { readonly details: number }) | { readonly problem: string }> {
  const counted = { Success: 0, Failed: 0, Skipped: 0 };
  let details = 0;
  const reading = testDetails(path);
  try {
    for (let next = await reading.next(); ; next = await reading.next()) {
      if (next.done === true) {
        const told = next.value;
        const own = { total: details, failed: counted.Failed, passed: counted.Success, skipped: counted.Skipped };
        return { ...(told ?? own), details };
      }
      for (const { status } of next.value) counted[status]++;
      details += next.value.length;
      if (details > most) throw artifactError("test-results", `expected at most ${most} tests, found more`);
    }
  } catch (thrown) {
    if (codeOf(thrown) === "test-results") return { problem: messageOf(thrown) };
    throw thrown;
  } finally {
    await reading.return(undefined);
  }
}

// JUnit XML as most runners write it: testcase elements with failure, error or skipped. Counts of suites are ignored
// because runners disagree about them.

const ends: Readonly<Record<string, TestStatus>> = { failure: "Failed", error: "Failed", skipped: "Skipped" };

interface Case {
  readonly name: string;
  readonly seconds: number;
  status: TestStatus;
  readonly message: MessageText;
}

class JunitReader implements TestReader {
  readonly #suites: (string | null)[] = [];
  #case: Case | undefined;
  #text: MessageText | undefined;
  #details: TestDetail[] = [];

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === "testsuite") this.#suites.push(timeOf(attributes["timestamp"]));
    else if (name === "testcase") {
      const { classname = "", name: own = "", time = "" } = attributes;
      const named = classname === "" ? own : `${classname}.${own}`;
      this.#case = { name: named, seconds: Number(time) || 0, status: "Success", message: new MessageText() };
    } else this.#end(ends[name], attributes["message"] ?? "");
  }

  #end(status: TestStatus | undefined, message: string): void {
    if (this.#case === undefined || status === undefined) return;
    if (this.#case.status !== "Failed") this.#case.status = status;
    this.#text = this.#case.message;
    if (this.#text.text !== "") this.#text.add("\n");
    this.#text.add(message);
    if (message !== "") this.#text.add("\n");
  }

  text(text: string): void {
    this.#text?.add(text);
  }

  close(name: string): void {
    if (ends[name] !== undefined) this.#text = undefined;
    if (name === "testsuite") this.#suites.pop();
    if (name !== "testcase" || this.#case === undefined) return;
    const { seconds, status, message, ...rest } = this.#case;
    const startedOn = this.#suites.at(-1) ?? null;
    const start = startedOn === null ? undefined : parseInstant(startedOn);
    const completedOn = start === undefined ? null : formatInstant(start + Math.round(1000 * Math.min(seconds, 1e9)));
    this.#details.push({ ...rest, status, message: message.text.trim(), startedOn, completedOn });
    this.#case = undefined;
  }

  take(): readonly TestDetail[] {
    const details = this.#details;
    this.#details = [];
    return details;
  }

  counts(): TestCounts | undefined {
    return undefined;
  }
}

// TRX of Visual Studio's test runners: UnitTestResult elements and a ResultSummary with Counters.

const succeeded = new Set(["Passed", "PassedButRunAborted", "Completed", "Warning"]);
const failed = new Set(["Failed", "Error", "Timeout", "Aborted", "Disconnected"]);

interface Open {
  readonly detail: Omit<TestDetail, "message">;
  readonly message: MessageText;
  readonly stack: MessageText;
}

class TrxReader implements TestReader {
  readonly #open: Open[] = [];
  #details: TestDetail[] = [];
  #counts: TestCounts | undefined;
  #text: MessageText | undefined;

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    const last = this.#open.at(-1);
    if (name === "UnitTestResult") {
      const { testName = "", outcome = "", startTime, endTime } = attributes;
      const times = { startedOn: timeOf(startTime), completedOn: timeOf(endTime) };
      const detail = { name: testName, status: statusOf(outcome), ...times };
      this.#open.push({ detail, message: new MessageText(), stack: new MessageText() });
    } else if (name === "Message") this.#text = last?.message;
    else if (name === "StackTrace") this.#text = last?.stack;
    else if (name === "Counters") this.#counts = countsOf(attributes);
  }

  text(text: string): void {
    this.#text?.add(text);
  }

  close(name: string): void {
    if (name === "Message" || name === "StackTrace") this.#text = undefined;
    if (name !== "UnitTestResult") return;
    const ended = this.#open.pop();
    if (ended === undefined) return;
    const { detail, message, stack } = ended;
    const told = [message.text, stack.text].filter((text) => text !== "").join("\n");
    this.#details.push({ ...detail, message: detail.status === "Success" ? "" : told });
  }

  take(): readonly TestDetail[] {
    const details = this.#details;
    this.#details = [];
    return details;
  }

  counts(): TestCounts | undefined {
    return this.#counts;
  }
}

const statusOf = (outcome: string): TestStatus =>
  succeeded.has(outcome) ? "Success" : failed.has(outcome) ? "Failed" : "Skipped";

function countsOf(attributes: Readonly<Record<string, string>>): TestCounts | undefined {
  const [total, passed, failures, skipped] = ["total", "passed", "failed", "notExecuted"].map((name) =>
    /^\d{1,9}$/.test(attributes[name] ?? "") ? Number(attributes[name]) : undefined,
  );
  if (total === undefined || passed === undefined || failures === undefined) return undefined;
  return { total, passed, failed: failures, skipped: skipped ?? 0 };
}
