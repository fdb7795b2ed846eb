import { SlipwayError } from "#lib/base/index.ts";
import type { AggregationParts } from "./aggregation-parts.ts";
import { askService, refusedBy, saysNoRecord, type ServiceAddress, type ServiceRequest } from "./api-connection.ts";
import { BuildApi } from "./build-api.ts";

/** Chooses the protocol of a wharf-api: this project's, or the original's, which lacks numbered lines and cursors.
 * Detected with the first build and cached until `forget`. */
export class BuildApis {
  readonly #service: ServiceAddress;
  #isOriginal: boolean | undefined;

  constructor(service: ServiceAddress) {
    this.#service = service;
  }

  /** Rejects with `wharf-unknown-build` and others. Close the result. */
  async open(buildId: number, signal: AbortSignal): Promise<AggregationParts["api"]> {
    const isOriginal = (this.#isOriginal ??= await this.#ask(buildId, signal));
    if (!isOriginal) return new BuildApi(this.#service, buildId);
    const { OriginalBuildApi } = await import("./original-build-api.ts");
    return new OriginalBuildApi(this.#service, buildId);
  }

  forget(): void {
    this.#isOriginal = undefined;
  }

  /** The original's 404 for unknown paths has no document. */
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
