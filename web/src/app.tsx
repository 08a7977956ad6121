import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { connectionNow, onConnection, request, setConnection, setToken } from "./lib/api";
import { nouns } from "./lib/format";
import { useLoad } from "./lib/load";
import { address, go, now, useRoute, VIEWS } from "./lib/route";
import type { IndexSummary } from "./lib/types";
import { JobTray } from "./parts/jobs";
import { Menu } from "./parts/menu";
import { Ask } from "./views/ask";
import { Compare } from "./views/compare";
import { Documents } from "./views/documents";
import { Evaluate } from "./views/evaluate";
import { Graph } from "./views/graph";

const TITLES = { ask: "Ask", compare: "Compare", graph: "Graph", documents: "Documents", evaluate: "Evaluate" };

export function App() {
  const route = useRoute();
  const [connection, set] = useState(connectionNow);
  const found = useLoad<{ indexes: IndexSummary[] }>("/api/v1/indexes");
  useEffect(() => onConnection(set), []);
  useEffect(() => {
    if (connection !== "gone") return;
    const timer = setInterval(() => {
      void fetch("/healthz").then(
        (response) => {
          if (!response.ok) return;
          setConnection("ok");
          found.again();
        },
        () => undefined,
      );
    }, 3000);
    return () => clearInterval(timer);
  }, [connection]);

  const indexes = found.data?.indexes ?? [];
  const index = indexes.find((each) => each.name === route.index) ?? (route.index ? undefined : indexes[0]);
  useEffect(() => {
    // The address of now, not that of the last rendering: it may have changed while the indexes were loaded.
    const at = now();
    if (index && !at.index) go(address(index.name, at.view, {}, at.params), true);
    const title = route.params.get("q");
    document.title = `${title ? `${title} – ` : ""}${TITLES[route.view]} – Polygraph`;
  }, [index?.name, route]);

  if (connection === "no-token") return <TokenForm onDone={() => { setConnection("ok"); found.again(); }} />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
        Skip to the content
      </a>
      <header class="top">
        <div class="where">
        <span class="brand">
          <svg viewBox="0 0 32 32" aria-hidden="true"><path d="M2 18h6l3-10 6 17 4-12 2 5h7" /></svg>
          Polygraph
        </span>
        {indexes.length > 0 && (
          <Menu label={<span class="index-name">{index?.name ?? "index"}</span>} name={`Index: ${index?.name ?? "none"}`} quiet>
            {(close) => (
              <ul class="choices">
                {indexes.map((each) => (
                  <li key={each.name}>
                    <button
                      type="button"
                      aria-current={each.name === index?.name}
                      onClick={() => {
                        go(address(each.name, route.view));
                        close();
                      }}
                    >
                      <b>{each.name}</b>
                      <span class="soft">
                        {nouns(each.documents, "document")}, {nouns(each.entities, "entity", "entities")}
                      </span>
                    </button>
                  </li>
                ))}
              </ul>
            )}
          </Menu>
        )}
        </div>
        <nav aria-label="Views">
          {VIEWS.map((view) => (
            <a
              key={view}
              href={address(index?.name ?? "", view)}
              aria-current={view === route.view ? "page" : undefined}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                event.preventDefault();
                // A question goes along from Ask to Compare and back.
                const q = ["ask", "compare"].includes(view) && ["ask", "compare"].includes(route.view) ? route.params.get("q") : null;
                go(address(index?.name ?? "", view, { q }));
              }}
            >
              {TITLES[view]}
            </a>
          ))}
        </nav>
        <JobTray onDone={found.again} />
      </header>
      {connection === "gone" && (
        <p class="banner" role="alert">
          The server does not answer. Start it again with <code>polygraph serve</code>; this page will reconnect by itself.
        </p>
      )}
      {index?.stale && <p class="banner soft" role="status">This index is being built, or a build was interrupted. Methods whose layers are ready can answer; <code>polygraph index</code> builds the rest.</p>}
      <main id="main" tabIndex={-1}>
        {index ? (
          <View index={index} onChanged={found.again} />
        ) : found.error && connection === "ok" ? (
          <p class="problem" role="alert">{found.error}</p>
        ) : found.data ? (
          <p class="problem">
            This server has no index named {route.index}. It has:{" "}
            {indexes.map((each, i) => (
              <Fragment key={each.name}>
                {i > 0 && ", "}
                <a href={address(each.name, "ask")} onClick={(event) => { event.preventDefault(); go(address(each.name, "ask")); }}>
                  {each.name}
                </a>
              </Fragment>
            ))}
          </p>
        ) : connection === "ok" ? (
          <p class="soft hint late" role="status">Loading …</p>
        ) : null}
      </main>
    </>
  );
}

function View({ index, onChanged }: { index: IndexSummary; onChanged: () => void }) {
  const { view, params } = useRoute();
  switch (view) {
    case "ask":
      return <Ask key={index.name} index={index} params={params} />;
    case "compare":
      return <Compare key={index.name} index={index} params={params} />;
    case "graph":
      return <Graph key={index.name} index={index} params={params} />;
    case "documents":
      return <Documents key={index.name} index={index} params={params} onChanged={onChanged} />;
    case "evaluate":
      return <Evaluate key={index.name} index={index} params={params} />;
  }
}

function TokenForm({ onDone }: { onDone: () => void }) {
  const [wrong, setWrong] = useState(false);
  return (
    <main class="token">
      <h1>Polygraph</h1>
      <p>
        This page needs a token: your own, or the one that <code>polygraph serve</code> printed when it started. Open the
        address that it printed, or paste the token here.
      </p>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          const field = new FormData(event.currentTarget).get("token");
          setToken(String(field ?? "").replace(/^.*#token=/, ""));
          try {
            await request("/api/v1/indexes");
            onDone();
          } catch {
            setWrong(true);
          }
        }}
      >
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="off" required />
        <button type="submit" class="main">Open</button>
      </form>
      {wrong && <p class="problem" role="alert">The server does not accept this token.</p>}
    </main>
  );
}
