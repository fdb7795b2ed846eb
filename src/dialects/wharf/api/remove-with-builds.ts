import { type Logger, messageOf } from "#lib/base/index.ts";
import { numberTaken } from "../builds/give-number.ts";
import { numberOfBuild } from "../builds/numbers.ts";
import type { Records } from "../builds/records.ts";
import type { BuildStores } from "./build-stores.ts";

/**
 * Removes what is stored of builds that are gone, where another process controls them. What is gone before this process is here is removed when the
 * stores are opened.
 */
export function removeWithBuilds(records: Records, stores: Pick<BuildStores, "remove">, log: Logger): void {
  records.builds.addHandler({
    delete(build) {
      const number = numberOfBuild(build);
      if (number === undefined || build.status?.reason === numberTaken || records.build(number) !== undefined) return;
      stores.remove(number).catch((thrown: unknown) => {
        log.warn("results of a build that was deleted stay until the next start", {
          build: number,
          error: messageOf(thrown),
        });
      });
    },
  });
}
