import { parseInstant } from "#lib/base/index.ts";
import type { TestCounts } from "./artifact-list.ts";
import type { XmlReader } from "./read-xml.ts";

export type TestStatus = "Success" | "Failed" | "Skipped";

export interface TestDetail {
  readonly name: string;
  readonly message: string;
  /** As written in the file; null if absent. */
  readonly startedOn: string | null;
  readonly completedOn: string | null;
  readonly status: TestStatus;
}

export interface TestReader extends XmlReader {
  readonly take: () => readonly TestDetail[];
  readonly counts: () => TestCounts | undefined;
}

const longestMessage = 64 * 1024;

export class MessageText {
  #text = "";

  add(text: string): void {
    if (this.#text.length < longestMessage) this.#text += text.slice(0, longestMessage - this.#text.length);
  }

  get text(): string {
    return this.#text;
  }
}

/** RFC 3339; times without a zone are UTC. */
export function timeOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const zoned = /(?:Z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text}Z`;
  return parseInstant(zoned) === undefined ? null : zoned;
}
