import type { TestCounts } from "./artifact-list.ts";
import { MessageText, type TestDetail, type TestReader, type TestStatus, timeOf } from "./test-detail.ts";

// TRX of Visual Studio's test runners: UnitTestResult elements and a ResultSummary with Counters.

const succeeded = new Set(["Passed", "PassedButRunAborted", "Completed", "Warning"]);
const failed = new Set(["Failed", "Error", "Timeout", "Aborted", "Disconnected"]);

interface Open {
  readonly detail: Omit<TestDetail, "message">;
  readonly message: MessageText;
  readonly stack: MessageText;
}

export class TrxReader implements TestReader {
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
