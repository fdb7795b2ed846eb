import type { StoredArtifact, TestCounts } from "./artifact-list.ts";
import type { ArtifactStore } from "./artifact-store.ts";

/** A file whose tests have been counted. */
export type TestFile = StoredArtifact & { readonly tests: NonNullable<StoredArtifact["tests"]> };

/** A file's counts as clients know them. */
export interface TestSummary extends TestCounts {
  /** Both of when the file came. */
  readonly updatedAt: string;
  readonly createdAt: string;
  readonly testResultSummaryId: number;
  readonly fileName: string;
  readonly artifactId: number;
  readonly buildId: number;
}

/** Of each file of test results of a build. */
export const testSummaries = (artifacts: ArtifactStore, buildId: number): readonly TestSummary[] =>
  testFiles(artifacts, buildId).map((file) => summaryOf(buildId, file));

/** A file's counts, known by its number. */
export const summaryOf = (buildId: number, { artifactId, fileName, createdAt, tests }: TestFile): TestSummary => ({
  updatedAt: createdAt,
  createdAt,
  testResultSummaryId: artifactId,
  fileName,
  artifactId,
  buildId,
  total: tests.total,
  failed: tests.failed,
  passed: tests.passed,
  skipped: tests.skipped,
});

/** Of all files of test results of a build together. */
export const testTotals = (artifacts: ArtifactStore, buildId: number): TestCounts =>
  sumOf(testFiles(artifacts, buildId).map(({ tests }) => tests));

/** Of several files together. */
export function sumOf(files: readonly TestCounts[]): TestCounts {
  const sum = { total: 0, failed: 0, passed: 0, skipped: 0 };
  for (const { total, failed, passed, skipped } of files) {
    sum.total += total;
    sum.failed += failed;
    sum.passed += passed;
    sum.skipped += skipped;
  }
  return sum;
}

/** Files that were no results of tests have no counts. */
export const hasTests = (artifact: StoredArtifact): artifact is TestFile => artifact.tests !== undefined;
/** Of one build, in order of arrival. */
export const testFiles = (artifacts: ArtifactStore, buildId: number): readonly TestFile[] =>
  artifacts.list(buildId).filter(hasTests);
