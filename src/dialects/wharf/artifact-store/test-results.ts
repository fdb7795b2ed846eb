import { codeOf, messageOf } from "#lib/base/index.ts";
import type { TestCounts } from "./artifact-list.ts";
import { artifactError } from "./errors.ts";
import { JunitReader } from "./junit.ts";
import { readXml } from "./read-xml.ts";
import type { TestDetail, TestReader } from "./test-detail.ts";
import { TrxReader } from "./trx.ts";

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
