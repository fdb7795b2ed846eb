import { type Logger, messageOf } from "#lib/base/index.ts";
import { numberTaken } from "../builds/give-number.ts";
import { numberOfBuild } from "../builds/numbers.ts";
import type { Records } from "../builds/records.ts";
import type { BuildStores } from "./build-stores.ts";

export function removeWithBuilds(records: Records, stores: Pick<BuildStores, "remove">, log: Logger): void {
  records.builds.addHandler({
    delete(build) {
      const number = numberOfBuild(build);
      if (number === undefined || build.status?.reason === numberTaken || records.build(number) !== undefined) return;
      stores.remove(number).catch((thrown: unknown) => {
        log.warn("removing results of a deleted build failed; retried at the next start", {
          build: number,
          error: messageOf(thrown),
        });
      });
    },
  });
}
