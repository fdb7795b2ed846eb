import { type JsonValue, SlipwayError } from "#lib/base/index.ts";
import {
  askService,
  problemIn,
  refusedBy,
  saysNoRecord,
  type ServiceAddress,
  type ServiceAnswer,
  type ServiceRequest,
} from "./api-connection.ts";

/**
 * Asks wharf-api about a build, and answers what it says. Rejects with `wharf-service` and `wharf-slow` as `askService` does, with `wharf-unknown-build`
 * where there is no such build, with `wharf-unwanted` for content that is refused however often it is brought, and with `wharf-refused` for the rest,
 * such as a wrong token or a path that nobody serves.
 */
export async function askOfBuild(
  service: ServiceAddress,
  request: ServiceRequest,
  signal: AbortSignal,
): Promise<JsonValue | undefined> {
  const answer = await askService(service, request, signal);
  if (answer.status < 300) return answer.json;
  const refused = refusedBy(service, request, answer);
  if (saysNoRecord(answer)) throw new SlipwayError("wharf-unknown-build", refused.message);
  throw isForGood(answer) ? new SlipwayError("wharf-unwanted", refused.message) : refused;
}

/** Whether it is the content that is refused. A body that broke off on its way is another one the next time. */
function isForGood(answer: ServiceAnswer): boolean {
  if (answer.status !== 400) return answer.status === 409 || answer.status === 413;
  const problem = problemIn(answer);
  return problem !== undefined && !problem.endsWith("-read-error");
}
