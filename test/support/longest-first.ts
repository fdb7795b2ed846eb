import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take most of a minute or more on two cores, the longest first. Figures move; that these begin early is what counts. */
export const longest: readonly string[] = [
  "test/e2e/docker.test.ts",
  "test/e2e/benchmarks.test.ts",
  "test/e2e/readme.test.ts",
  "test/conformance/kubernetes/cluster/kubectl.test.ts",
  "test/e2e/platforms.test.ts",
  "test/crash/tink-faults.test.ts",
  "test/crash/tink-acceptance.test.ts",
  "test/crash/run-kill.test.ts",
  "test/e2e/cluster-controllers.test.ts",
  "test/e2e/tinkerbell.test.ts",
  "test/e2e/cli.test.ts",
  "test/e2e/help-examples.test.ts",
  "test/e2e/tink-access.test.ts",
  "test/e2e/tink-logs.test.ts",
  "test/e2e/workflows-on-processes.test.ts",
  "test/e2e/tink-run.test.ts",
  "test/e2e/examples.test.ts",
  "test/e2e/wharf-run.test.ts",
  "test/crash/full-disk.test.ts",
  "test/crash/vela-kill.test.ts",
  "test/e2e/vela-acceptance.test.ts",
  "test/crash/wharf-hosted-kill.test.ts",
  "test/crash/tink-random.test.ts",
];

/**
 * The longest files of all projects that run at one time begin first, so that no core waits for a single one at the end. By itself Vitest takes
 * one project after the other, and on a fresh clone knows nothing of how long a file takes.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = longest.indexOf(relative(this.ctx.config.root, moduleId));
      return place === -1 ? longest.length : place;
    };
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
