import type { Manager } from "#kernel/kit/index.ts";
import { aborted } from "#lib/base/index.ts";
import { type ControllerParts, type ListenChoice, openWhenNeeded } from "#kernel/dialect/index.ts";
import { type HttpDoorOptions, openHttpDoor } from "./http/index.ts";
import { Build, Project, Worker } from "./kinds.ts";
import type { OwnService } from "./services.ts";

export interface ServiceAccess {
  readonly token: string;
  readonly tokenFile: string;
  readonly allowsAnonymous: boolean;
}

export interface Service extends Pick<HttpDoorOptions, "origins" | "serves" | "takesTokenInQuery"> {
  readonly name: "provisioner" | "wharf-api";
  readonly listen: ListenChoice;
  readonly onClosed?: () => Promise<void>;
}

/** Opens a service for a manager that has not started and closes it with the manager: at once if an address was named,
 * otherwise with the first Project, Build or Worker. Rejects with `listen-failed` if a named address cannot be opened.
 */
export async function openService(
  manager: Manager,
  { name, listen, onClosed, ...rest }: Service,
  parts: Pick<ControllerParts, "notes" | "tellPort">,
  { token, tokenFile, allowsAnonymous }: ServiceAccess,
): Promise<OwnService> {
  const { clock, log } = manager;
  const [what, flag] =
    name === "wharf-api" ? [name, "--wharf-listen"] : ["Wharf's provisioner", "--wharf-provisioner-listen"];
  const needed = {
    serves: name,
    what,
    flag,
    listen,
    neededBy: [Project, Build, Worker],
    tokenFile,
    anonymousFlag: allowsAnonymous ? "--wharf-anonymous-auth" : undefined,
  };
  const { opened } = await openWhenNeeded(manager, parts, needed, (address) =>
    openHttpDoor({ ...rest, address, token, allowsAnonymous, clock, log }),
  );
  // Replicas without the lease serve too: the leader acts on what they store.
  manager.add({
    name: `wharf-${name}-door`,
    runsWithoutLeadership: true,
    async run({ stop }) {
      await aborted(stop);
      await opened.then(({ port }) => port.close()).catch(() => undefined);
      await onClosed?.();
    },
  });
  return { address: listen.isUsual ? undefined : (await opened).address, opened, token };
}
