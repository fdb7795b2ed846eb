import { SlipwayError } from "#lib/base/index.ts";
import type { AggregationParts } from "./aggregation-parts.ts";
import { askService, refusedBy, saysNoRecord, type ServiceAddress, type ServiceRequest } from "./api-connection.ts";
import { BuildApi } from "./build-api.ts";

/**
 * Speaks to one wharf-api as that one wants it: this project's takes lines with their numbers and says how far they are there, the original has neither
 * endpoint. Which of them it is is found out with the first build, and remembered until `forget`.
 */
export class BuildApis {
  readonly #service: ServiceAddress;
  #isOriginal: boolean | undefined;

  constructor(service: ServiceAddress) {
    this.#service = service;
  }

  /** Rejects with `wharf-unknown-build`, and with what else asking may end in. What it answers is to be closed. */
  async open(buildId: number, signal: AbortSignal): Promise<AggregationParts["api"]> {
    const isOriginal = (this.#isOriginal ??= await this.#ask(buildId, signal));
    if (!isOriginal) return new BuildApi(this.#service, buildId);
    const { OriginalBuildApi } = await import("./original-build-api.ts");
    return new OriginalBuildApi(this.#service, buildId);
  }

  /** Another one may be at the address by now. */
  forget(): void {
    this.#isOriginal = undefined;
  }

  /** The original says 404 to a path that it does not have, too, but without a document. */
  async #ask(buildId: number, signal: AbortSignal): Promise<boolean> {
    const paths = [`/api/build/${buildId}/log/cursor`, `/api/build/${buildId}`];
    for (const [at, path] of paths.entries()) {
      const request: ServiceRequest = { method: "GET", path };
      const answer = await askService(this.#service, request, signal);
      if (answer.status < 300) return at > 0;
      const refused = refusedBy(this.#service, request, answer);
      if (saysNoRecord(answer)) throw new SlipwayError("wharf-unknown-build", refused.message);
      if (answer.status !== 404) throw refused;
    }
    throw new SlipwayError(
      "wharf-refused",
      `there is no wharf-api at ${this.#service.url}: it does not serve ${paths[1]}`,
      {
        hint: "check aggregator.wharfApiUrl",
      },
    );
  }
}
