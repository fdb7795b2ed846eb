import { formatInstant, parseInstant } from "#lib/base/index.ts";
import type { TestCounts } from "./artifact-list.ts";
import { MessageText, type TestDetail, type TestReader, type TestStatus, timeOf } from "./test-detail.ts";

// JUnit XML as most runners write it: testcase elements with failure, error or skipped. Counts of suites are ignored
// because runners disagree about them.

const ends: Readonly<Record<string, TestStatus>> = { failure: "Failed", error: "Failed", skipped: "Skipped" };

interface Case {
  readonly name: string;
  readonly seconds: number;
  status: TestStatus;
  readonly message: MessageText;
}

export class JunitReader implements TestReader {
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
