import type { StoredArtifact, TestCounts } from "./artifact-list.ts";
import type { ArtifactStore } from "./artifact-store.ts";

export type TestFile = StoredArtifact & { readonly tests: NonNullable<StoredArtifact["tests"]> };

export interface TestSummary extends TestCounts {
  readonly updatedAt: string;
  readonly createdAt: string;
  readonly testResultSummaryId: number;
  readonly fileName: string;
  readonly artifactId: number;
  readonly buildId: number;
}

export const testSummaries = (artifacts: ArtifactStore, buildId: number): readonly TestSummary[] =>
  testFiles(artifacts, buildId).map((file) => summaryOf(buildId, file));

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

export const testTotals = (artifacts: ArtifactStore, buildId: number): TestCounts =>
  sumOf(testFiles(artifacts, buildId).map(({ tests }) => tests));

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

export const hasTests = (artifact: StoredArtifact): artifact is TestFile => artifact.tests !== undefined;
export const testFiles = (artifacts: ArtifactStore, buildId: number): readonly TestFile[] =>
  artifacts.list(buildId).filter(hasTests);
