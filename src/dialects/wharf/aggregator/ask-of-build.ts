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

/** Rejects with `wharf-service`, `wharf-slow`, `wharf-unknown-build`, `wharf-unwanted` (content that is always refused)
 * or `wharf-refused`. */
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

function isForGood(answer: ServiceAnswer): boolean {
  if (answer.status !== 400) return answer.status === 409 || answer.status === 413;
  const problem = problemIn(answer);
  return problem !== undefined && !problem.endsWith("-read-error");
}
