import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, path, send, sentence } from "../lib/api";
import { clip, count, download, fileName, nouns } from "../lib/format";
import { all as allTurns } from "../lib/history";
import { useLoad } from "../lib/load";
import { colours, OTHER } from "../lib/palette";
import { change, DOCUMENT } from "../lib/route";
import type { Answer, Community, EntityHit, IndexSummary, Retrieval } from "../lib/types";
import { GraphCanvas, type Box, type Picture, type View } from "../parts/canvas";
import { DocumentPane, spanOf } from "../parts/document";
import { NoDocuments } from "../parts/empty";
import { CommunityPanel, EntityPanel, Overview, PairPanel } from "../parts/graph-panels";
import { followJobs } from "../parts/jobs";
import { Finder } from "../parts/finder";
import { Menu } from "../parts/menu";

interface Communities {
  levels: number[];
  communities: Community[];
  edges: { source: string; target: string; weight: number }[];
}

/** Entities and edges as columns: what 60,000 rows need to load in a moment. */
export interface Columns {
  ids: string[];
  names: string[];
  types: string[];
  x: number[];
  y: number[];
  degree: number[];
  community: (string | null)[];
  edges: { source: number[]; target: number[]; weight: number[] };
}

const ALL = "entities";
const LIMIT = 100_000;
const AROUND = 60;
/** Of more edges than these, the heaviest are drawn: more are a grey plane. */
const MOST_EDGES = 25_000;

interface Props {
  index: IndexSummary;
  params: URLSearchParams;
}

export function Graph({ index, params }: Props) {
  const level = params.get("level");
  const focus = params.getAll("e");
  const answerId = params.get("answer");
  const grown = params.getAll("g");
  const colourBy = params.get("colour") === "community" ? "community" : "type";
  const [ratio, setRatio] = useState(1);
  const [hidden, setHidden] = useState<Set<string>>(new Set());
  const [problem, setProblem] = useState("");
  const view = useRef<View | null>(null);
  const wasAround = useRef(false);
  const at = (...parts: string[]) => path("indexes", index.name, ...parts);

  const first = useLoad<Communities>(at("graph", "communities"));
  const levels = first.data?.levels ?? [];
  // Zooming in opens the next level, unless the address names one.
  const auto = levels.length ? (levels[Math.min(levels.length - 1, Math.max(0, Math.floor(Math.log2(1 / ratio) / 1.3)))] ?? levels[0]) : undefined;
  const around = level !== ALL && (grown.length > 0 || Boolean(answerId));
  const shownLevel = level !== null && level !== ALL ? Number(level) : auto;
  // The first response has the edges of the coarsest level alone.
  const coarse = useMemo(() => (first.data ? { ...first.data, communities: first.data.communities.filter((each) => each.level === levels[0]) } : null), [first.data]);
  const finer = useLoad<Communities>(first.data && shownLevel !== levels[0] ? at("graph", "communities") + `?level=${shownLevel ?? 0}` : null);
  const communities = shownLevel === levels[0] ? { data: coarse, loading: first.loading } : finer;
  const entities = useLoad<Columns>(level === ALL ? at("graph", "entities") + `?limit=${LIMIT}` : null);
  const answer = useAnswer(index.name, answerId);
  const centre = useMemo(() => [...new Set([...grown, ...(answer?.entities ?? [])])].slice(0, 24), [grown.join("\n"), answer]);
  const near = useNeighbours(index.name, around ? centre : [], setProblem);

  const picture = useMemo((): Picture | null => {
    // The frame is that of the communities: without waiting for it, all entities would be drawn twice.
    if (level === ALL) return entities.data && !first.loading ? ofColumns(entities.data, colourBy, `${index.name} all ${colourBy}`) : null;
    if (around) return near ? ofColumns(near, colourBy, `${index.name} around ${centre.join("\n")} ${near.ids.length} ${colourBy}`) : null;
    return communities.data ? ofCommunities(communities.data, index.name) : null;
  }, [level, around, entities.data, first.loading, near, communities.data, colourBy]);
  const last = useRef<Picture | null>(null);
  if (picture) last.current = picture;
  // One frame for all pictures, so that everything keeps its place from one to the next.
  const box = useMemo(() => (first.data ? boxOf(first.data.communities) : null), [first.data]);
  const groups = useMemo(() => legendOf(last.current), [picture]);
  const titles = useMemo(() => new Map(first.data?.communities.map((each) => [each.id, each.title])), [first.data]);
  const titleOf = (group: string) => clip((colourBy === "community" && titles.get(group)) || group, 40);
  const shown = useMemo(() => (around && answer?.entities.length ? new Set(answer.entities) : null), [around, answer]);

  useEffect(() => setHidden(new Set()), [level, around, colourBy]);
  useEffect(() => {
    if (!picture) return;
    if (around) view.current?.fit();
    else if (focus[0] && level === ALL) view.current?.flyTo(focus[0]);
    else if (wasAround.current) view.current?.fit();
    wasAround.current = around;
  }, [focus[0], picture?.key, around, box]);

  const open = (id: string) => change({ e: id, g: grown.includes(id) ? grown : [...grown, id], level: null, community: null, ...DOCUMENT });
  const onClick = (id: string | null, more: boolean) => {
    if (id === null) return change({ e: null, community: null, ...DOCUMENT });
    if (id.startsWith("community ")) return change({ community: id.slice(10), e: null });
    if (more && focus[0] && focus[0] !== id) return change({ e: [focus[0], id] });
    change({ e: id, community: null, ...DOCUMENT });
  };
  const decide = async (decision: Record<string, string>): Promise<boolean> => {
    try {
      await send("POST", at("entities", "decisions"), decision);
      setProblem("");
      followJobs();
      return true;
    } catch (error) {
      setProblem(sentence(error));
      return false;
    }
  };
  const document = params.get("doc");
  const legend = (): [string, string][] => groups.filter(([name]) => !hidden.has(name)).map(([name, color]) => [titleOf(name), color]);
  const busy = !picture && (first.loading || entities.loading || communities.loading || (around && !near));
  const chosen = params.get("community");
  const community = chosen ? ([...(communities.data?.communities ?? []), ...(first.data?.communities ?? [])].find((each) => each.id === chosen) ?? { ...UNKNOWN, id: chosen, title: chosen }) : undefined;
  const tints = useMemo(() => (communities.data ? tintsOf(communities.data.communities) : new Map<string, string>()), [communities.data]);

  if (index.entities === 0) {
    return (
      <div class="sheet">
        <h1>Graph</h1>
        {index.documents === 0 ? (
          <NoDocuments index={index} />
        ) : (
          <p>This index has no entities yet. <code>polygraph index</code> finds them, unless <code>--for</code> names only methods that need no graph.</p>
        )}
      </div>
    );
  }
  // How many rows the controls take, and with them the place of the graph, depends on its levels.
  if (!first.data && !first.error) return <p class="soft hint late" role="status">Loading the graph …</p>;
  return (
    <div class={`graph${document ? " with-document" : ""}`}>
      <h1 class="visually-hidden">Graph of {index.name}</h1>
      <GraphCanvas
        picture={last.current ?? { key: "", nodes: [], edges: [] }}
        box={box}
        selected={focus.length ? focus : community ? [`community ${community.id}`] : []}
        shown={shown}
        hidden={hidden}
        label={around ? "Neighbourhood of entities" : level === ALL ? "All entities" : "Map of communities"}
        onClick={onClick}
        onDouble={(id) => (id.startsWith("community ") ? change({ level: ALL, community: null }) : open(id))}
        onRatio={setRatio}
        view={view}
        tools={
          <div class="graph-tools">
            <Finder index={index.name} onChoose={(hit: EntityHit) => {
              if (level === ALL) change({ e: hit.id, community: null });
              else open(hit.id);
            }} />
            <div class="segments" role="group" aria-label="What is shown">
              {levels.map((each, i) => (
                <button
                  key={each}
                  type="button"
                  aria-label={levels.length === 1 ? undefined : i === 0 ? "large communities" : i === levels.length - 1 ? "small communities" : `communities, level ${i + 1} of ${levels.length}`}
                  aria-pressed={!around && level !== ALL && shownLevel === each}
                  onClick={() => change({ level: each, g: null, answer: null })}
                >
                  {levels.length === 1 ? "communities" : i === 0 ? "large" : i === levels.length - 1 ? "small" : count(i + 1)}
                </button>
              ))}
              <button type="button" aria-pressed={level === ALL} onClick={() => change({ level: ALL, g: null, answer: null })}>
                entities
              </button>
              {around && <button type="button" aria-pressed={true} onClick={() => change({ g: null, answer: null, e: null })}>{answerId ? "answer" : "around"}</button>}
            </div>
            {(around || level === ALL) && (
              <div class="segments" role="group" aria-label="Colour by">
                {["type", "community"].map((each) => (
                  <button key={each} type="button" aria-pressed={colourBy === each} onClick={() => change({ colour: each === "type" ? null : each }, true)}>
                    {each}
                  </button>
                ))}
              </div>
            )}
            <Menu label="save" name="Save the picture">
              {(close) => (
                <ul class="choices">
                  {(["png", "svg"] as const).map((kind) => (
                    <li key={kind}>
                      <button
                        type="button"
                        onClick={async () => {
                          const made = await view.current?.[kind](legend());
                          if (made) download(fileName(`${index.name} graph`, kind), made);
                          close();
                        }}
                      >
                        {kind.toUpperCase()}
                      </button>
                    </li>
                  ))}
                </ul>
              )}
            </Menu>
          </div>
        }
        legend={
          <div class="graph-legend">
            {busy ? (
              <span role="status">Loading the graph …</span>
            ) : (
              <>
                <span class="soft number">
                  {nouns(last.current?.nodes.length ?? 0, around || level === ALL ? "entity" : "community", around || level === ALL ? "entities" : "communities")},{" "}
                  {nouns(last.current?.edges.length ?? 0, "edge")}
                  {last.current?.left ? ` (the strongest; ${count(last.current.left)} weaker ones are not drawn)` : ""}
                </span>
                {(around || level === ALL) && (
                  <ul class="legend" aria-label="Legend: choose what is shown">
                    {groups.map(([name, color, n]) => (
                      <li key={name}>
                        <button
                          type="button"
                          aria-pressed={!hidden.has(name)}
                          onClick={() => {
                            const next = new Set(hidden);
                            if (!next.delete(name)) next.add(name);
                            setHidden(next);
                          }}
                        >
                          <Swatch color={color} /> {titleOf(name)} <span class="soft number">{count(n)}</span>
                        </button>
                      </li>
                    ))}
                  </ul>
                )}
              </>
            )}
          </div>
        }
      />
      <section class="side" aria-label="Details">
        {(problem || first.error || entities.error) && <p class="problem" role="alert">{problem || first.error || entities.error}</p>}
        {focus.length >= 2 && focus[0] && focus[1] ? (
          <PairPanel
            index={index}
            first={focus[0]}
            second={focus[1]}
            onDecide={async () => {
              if (await decide({ action: "merge", a: focus[0] ?? "", b: focus[1] ?? "" })) change({ e: focus[0] ?? null });
            }}
          />
        ) : focus[0] ? (
          <EntityPanel index={index} id={focus[0]} grown={grown.includes(focus[0])} onGrow={() => open(focus[0] ?? "")} onSplit={(other) => void decide({ action: "split", a: focus[0] ?? "", other })} />
        ) : community ? (
          <CommunityPanel index={index} community={community} children_={first.data?.communities.filter((each) => each.parent === community.id) ?? []} />
        ) : (
          <Overview
            index={index}
            communities={communities.data?.communities ?? first.data?.communities ?? []}
            color={(id) => tints.get(id) ?? OTHER}
            answer={answerId ? (answer ?? "missing") : null}
            name={(id) => near?.names[near.ids.indexOf(id)] ?? id}
          />
        )}
      </section>
      {document && <DocumentPane index={index.name} document={document} span={spanOf(params.get("span"))} marks={[]} />}
    </div>
  );
}

export function Swatch({ color }: { color: string }) {
  return (
    <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
      <circle cx="5" cy="5" r="5" fill={color} />
    </svg>
  );
}

const UNKNOWN: Community = { id: "", level: 0, title: "", size: 0, x: 0, y: 0, parent: null, rank: 0 };

/** Colours of communities; those with one parent have one colour. */
function tintsOf(communities: Community[]): Map<string, string> {
  const sizes = new Map<string, number>();
  for (const each of communities) sizes.set(each.parent ?? each.id, (sizes.get(each.parent ?? each.id) ?? 0) + each.size);
  const color = colours(sizes);
  return new Map(communities.map((each) => [each.id, color.get(each.parent ?? each.id) ?? OTHER]));
}

function ofCommunities(found: Communities, index: string): Picture {
  const number = new Map(found.communities.map((each, i) => [each.id, i]));
  const color = tintsOf(found.communities);
  const largest = Math.max(1, ...found.communities.map((each) => each.size));
  const heaviest = Math.max(1e-9, ...found.edges.map((each) => each.weight));
  return {
    key: `${index} communities ${found.communities.map((each) => each.id).join()}`,
    nodes: found.communities.map((each) => ({
      id: `community ${each.id}`,
      label: clip(each.title, 42),
      x: each.x,
      y: each.y,
      size: 3 + 27 * Math.sqrt(each.size / largest),
      color: color.get(each.id) ?? OTHER,
      group: each.parent ?? each.id,
    })),
    edges: found.edges.flatMap((each) => {
      const source = number.get(each.source);
      const target = number.get(each.target);
      return source === undefined || target === undefined ? [] : [{ source, target, weight: each.weight / heaviest }];
    }),
  };
}

function ofColumns(found: Columns, by: "type" | "community", key: string): Picture {
  const groups = (by === "type" ? found.types : found.community).map((each) => each || (by === "type" ? "other" : "none"));
  const sizes = new Map<string, number>();
  for (const group of groups) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  const color = colours(sizes);
  const kept = new Set([...sizes].sort((a, b) => b[1] - a[1]).slice(0, 9).map(([name]) => name));
  const many = found.ids.length > 400;
  const least = found.ids.length > 2000 ? 1 : many ? 1.8 : 4;
  const most = Math.max(1, ...(many ? [found.degree.reduce((a, b) => Math.max(a, b), 1)] : found.degree));
  const heaviest = found.edges.weight.reduce((a, b) => Math.max(a, b), 1e-9);
  return {
    key,
    nodes: found.ids.map((id, i) => ({
      id,
      label: found.names[i] ?? id,
      x: found.x[i] ?? 0,
      y: found.y[i] ?? 0,
      size: least + (many ? 8 : 10) * Math.sqrt((found.degree[i] ?? 0) / most),
      color: kept.has(groups[i] ?? "") ? (color.get(groups[i] ?? "") ?? OTHER) : OTHER,
      group: kept.has(groups[i] ?? "") ? (groups[i] ?? "") : "others",
    })),
    edges: heaviestEdges(found.edges.weight).map((i) => ({
      source: found.edges.source[i] ?? 0, target: found.edges.target[i] ?? 0, weight: (found.edges.weight[i] ?? 0) / heaviest,
    })), // prettier-ignore
    left: Math.max(0, found.edges.weight.length - MOST_EDGES),
  };
}

function heaviestEdges(weights: number[]): number[] {
  const all = weights.map((_, i) => i);
  if (all.length <= MOST_EDGES) return all;
  return all.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b).slice(0, MOST_EDGES);
}

function legendOf(picture: Picture | null): [string, string, number][] {
  const found = new Map<string, [string, number]>();
  for (const node of picture?.nodes ?? []) found.set(node.group, [node.color, (found.get(node.group)?.[1] ?? 0) + 1]);
  return [...found].map(([name, [color, n]]): [string, string, number] => [name, color, n]).sort((a, b) => b[2] - a[2]).slice(0, 12);
}

function boxOf(communities: Community[]): Box | null {
  if (!communities.length) return null;
  const xs = communities.map((each) => each.x);
  const ys = communities.map((each) => each.y);
  const range = (values: number[]): [number, number] => {
    const low = Math.min(...values);
    const high = Math.max(...values);
    return low === high ? [low - 1, high + 1] : [low, high];
  };
  return { x: range(xs), y: range(ys) };
}

/** The entities that an answer used, from this browser's history or from the server's record of the last hour. */
function useAnswer(index: string, id: string | null): { question: string; entities: string[] } | null {
  const turn = id ? allTurns().find((each) => each.id === id || each.answer?.id === id) : undefined;
  const record = useLoad<Retrieval>(id && !turn ? path("indexes", index, "explain", id) : null);
  return useMemo(() => {
    const retrieval = turn?.retrieval ?? record.data;
    if (!id || (!turn && !retrieval)) return null;
    return { question: turn?.question ?? retrieval?.question ?? "", entities: entitiesOf(retrieval, turn?.answer ?? null) };
  }, [id, turn, record.data]);
}

function entitiesOf(retrieval: Retrieval | null, answer: Answer | null): string[] {
  const found = new Set<string>();
  const relation = (key: string) => {
    for (const end of key.split(" | ")) if (end) found.add(end);
  };
  for (const path of answer?.paths ?? []) for (const fact of path.facts) relation(fact.relation);
  for (const item of retrieval?.evidence ?? []) {
    if (item.kind === "entity") found.add(item.id);
    else if (item.kind === "relation") relation(item.id);
  }
  for (const path of answer?.paths ?? []) for (const name of [path.start, path.end]) if (name) found.add(name.toLowerCase());
  return [...found];
}

interface Near {
  [key: string]: unknown;
  nodes?: { id: string; name: string; type: string; x: number; y: number; degree?: number; community?: string | null }[];
  entities?: { id: string; name: string; type: string; x: number; y: number; degree?: number; community?: string | null }[];
  edges?: { source: string; target: string; weight?: number }[];
}

const cache = new Map<string, Promise<Near>>();

/** Load the neighbourhoods of some entities and join them; places stay those of the index. */
function useNeighbours(index: string, centre: string[], onProblem: (text: string) => void): Columns | null {
  const [found, set] = useState<Columns | null>(null);
  const key = centre.join("\n");
  useEffect(() => {
    if (!centre.length) return set(null);
    let gone = false;
    const load = (id: string): Promise<Near> => {
      const address = `${path("indexes", index, "graph", "neighbours")}?entity=${encodeURIComponent(id)}&hops=1&limit=${AROUND}`;
      const known = cache.get(address);
      if (known) return known;
      const made = get<Near>(address);
      made.catch(() => cache.delete(address));
      cache.set(address, made);
      return made;
    };
    void Promise.allSettled(centre.map(load)).then((all) => {
      if (gone) return;
      const failed = all.find((each) => each.status === "rejected");
      const good = all.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      onProblem(failed && !good.length ? sentence(failed.reason) : "");
      set(join(good));
    });
    return () => {
      gone = true;
    };
  }, [index, key]);
  return found;
}

function join(parts: Near[]): Columns {
  const out: Columns = { ids: [], names: [], types: [], x: [], y: [], degree: [], community: [], edges: { source: [], target: [], weight: [] } };
  const number = new Map<string, number>();
  const seen = new Set<string>();
  for (const part of parts)
    for (const node of part.entities ?? part.nodes ?? []) {
      if (number.has(node.id)) continue;
      number.set(node.id, out.ids.length);
      out.ids.push(node.id);
      out.names.push(node.name);
      out.types.push(node.type);
      out.x.push(node.x);
      out.y.push(node.y);
      out.degree.push(node.degree ?? 0);
      out.community.push(node.community ?? null);
    }
  for (const part of parts)
    for (const edge of part.edges ?? []) {
      const source = number.get(edge.source);
      const target = number.get(edge.target);
      if (source === undefined || target === undefined) continue;
      const key = source < target ? `${source} ${target}` : `${target} ${source}`;
      if (seen.has(key)) continue;
      seen.add(key);
      out.edges.source.push(source);
      out.edges.target.push(target);
      out.edges.weight.push(edge.weight ?? 1);
    }
  if (!out.degree.some(Boolean)) {
    for (const end of [...out.edges.source, ...out.edges.target]) out.degree[end] = (out.degree[end] ?? 0) + 1;
  }
  return out;
}
