import { bindings } from "../data/keys.ts";
import { settings } from "../data/settings.ts";
import { Dialog } from "./dialog.tsx";

const words: Readonly<Record<string, string>> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
};

export const Keys = ({ keys }: { readonly keys: string }) => (
  <>
    {keys.split(" ").map((key, index) => (
      <kbd key={index}>{words[key] ?? key}</kbd>
    ))}
  </>
);

/** Every key that works on this page. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  const byLabel = new Map<string, string[]>();
  for (const { keys, label } of bindings.value) byLabel.set(label, [...(byLabel.get(label) ?? []), keys]);
  return (
    <Dialog title="Keyboard shortcuts" class="help" onClose={onClose}>
      <h2>Keyboard shortcuts</h2>
      {settings.keys.value === "off" && <p>Single letters are switched off in the preferences.</p>}
      <dl>
        {[...byLabel].map(([label, all]) => (
          <div key={label}>
            <dt>
              {[...new Set(all)].map((keys, index) => (
                <span key={keys}>
                  {index > 0 && " or "}
                  <Keys keys={keys} />
                </span>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        Everywhere, Tab reaches what can be used, in the order in which it is shown. Arrow keys move in trees, tabs, the
        graph and the grid; Enter opens.
      </p>
      <p class="dialog-buttons">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  );
}
