import { parseInstant } from "#lib/base/index.ts";
import type { TestCounts } from "./artifact-list.ts";
import type { XmlReader } from "./read-xml.ts";

/** How one test ended. */
export type TestStatus = "Success" | "Failed" | "Skipped";

/** One test of a file. */
export interface TestDetail {
  readonly name: string;
  /** Empty for a test that has passed. */
  readonly message: string;
  /** As the file has it; null where it says nothing. */
  readonly startedOn: string | null;
  readonly completedOn: string | null;
  readonly status: TestStatus;
}

/** Reads one format: details come out as their elements end. */
export interface TestReader extends XmlReader {
  /** Takes the details that were read since it was called last. */
  readonly take: () => readonly TestDetail[];
  /** What the file itself says of how many there were, when it has been read. */
  readonly counts: () => TestCounts | undefined;
}

/** Of one test: a longer message is cut. */
const longestMessage = 64 * 1024;

/** Text of an element, cut where it is too long to be read by anybody. */
export class MessageText {
  #text = "";

  add(text: string): void {
    if (this.#text.length < longestMessage) this.#text += text.slice(0, longestMessage - this.#text.length);
  }

  /** What was kept of it. */
  get text(): string {
    return this.#text;
  }
}

/** A time as it is told on, or null where it is none. A time without a zone is UTC. */
export function timeOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const zoned = /(?:Z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text}Z`;
  return parseInstant(zoned) === undefined ? null : zoned;
}
