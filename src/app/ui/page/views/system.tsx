import type { SystemState } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { connection } from "../data/server.ts";
import { skew } from "../data/time.ts";
import { useAnswer } from "../parts/answer.ts";
import { useOffer } from "../parts/hooks.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";

export function View() {
  useOffer({ title: "System", command: "slipway status" });
  const [answer, again] = useAnswer((signal) => requestJson<SystemState>("GET", "/system", { signal }));
  return (
    <div class="page-column is-scrolled">
      <div class="page-title">
        <h1 tabIndex={-1}>System</h1>
        <button type="button" onClick={again}>
          Reload
        </button>
      </div>
      {answer.is === "loading" && <Loading what="the state of the system" />}
      {answer.is === "failed" && <Failure thrown={answer.thrown} onRetry={again} />}
      {answer.is === "ready" && <State state={answer.value} />}
    </div>
  );
}

function State({ state }: { readonly state: SystemState }) {
  const troubled = state.ports.filter(({ trouble }) => trouble !== undefined);
  const off = Math.round(skew.value / 1000);
  return (
    <>
      <section aria-label="Health">
        <h2>{troubled.length === 0 ? "All configured ports are open" : "Degraded"}</h2>
        <ul class="plain">
          {troubled.map(({ serves, address, trouble }) => (
            <li key={`${serves} ${address}`} class="reason">
              {serves} on {address}: {trouble}
            </li>
          ))}
        </ul>
        <dl class="facts">
          <Fact name="Version" value={state.version} />
          <Fact name="Logged in as" value={state.user} />
          <Fact name="Connection" value={connection.value.is} />
          <Fact
            name="Clock"
            value={
              off === 0
                ? "matches this browser's"
                : `${Math.abs(off)} s ${off > 0 ? "ahead of" : "behind"} this browser's`
            }
          />
          {Object.entries(state.figures).map(([name, value]) => (
            <Fact key={name} name={name.charAt(0).toUpperCase() + name.slice(1)} value={value.toLocaleString("en")} />
          ))}
        </dl>
      </section>
      {state.ports.length > 0 && (
        <Listing
          title="Ports"
          columns={["Serves", "Address", "State"]}
          rows={state.ports.map((port) => [port.serves, port.address, port.trouble ?? "open"])}
        />
      )}
      {state.conditions.length > 0 && (
        <Listing
          title="Conditions"
          columns={["Condition", "True", "Message"]}
          rows={state.conditions.map(({ type, isTrue, message }) => [type, isTrue ? "yes" : "no", message])}
        />
      )}
    </>
  );
}

const Fact = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

const Listing = (props: {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}) => (
  <section aria-label={props.title}>
    <h2>{props.title}</h2>
    <Table label={`List of ${props.title.toLowerCase()}`} columns={props.columns.map((id) => ({ id }))}>
      {props.rows.map((row, index) => (
        <tr key={index}>
          {row.map((cell, at) => (
            <td key={at} class="wrap">
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  </section>
);
