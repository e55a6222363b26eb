"""Every option as a typed value: the one place where names, units and defaults are defined.

`config/default.yaml` has the same with a reason for each, and is tested to be equal. Durations are seconds, sizes bytes; the type of an
option says which (`Seconds` and `Timeout`; `Bytes`), and for these YAML also accepts "10 min", "24h", "10 MiB" (config/scalars.py). `None`
means no limit. Bounds are checked by config/load.py, not by the constructors; upper bounds only prevent overflows.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from thresher.config.dangerous_links import DANGEROUS, MANUALS, TITLES
from thresher.config.surt import from_surt

_MOST = 10**15
MOST_IMPORTS = 9

Seconds = Annotated[float, Meta(ge=0, le=1e9, extra={"unit": "seconds"})]
Timeout = Annotated[float, Meta(gt=0, le=1e9, extra={"unit": "seconds"})]  # 0 would mean "no limit" to the libraries that get it
Factor = Annotated[float, Meta(ge=0, le=1e6)]
Bytes = Annotated[int, Meta(ge=1, le=_MOST, extra={"unit": "bytes"})]
Positive = Annotated[int, Meta(ge=1, le=_MOST)]
Count = Annotated[int, Meta(ge=0, le=_MOST)]
Share = Annotated[float, Meta(ge=0, le=1)]
Port = Annotated[int, Meta(ge=1, le=65535)]
FilterMode = Literal["off", "observe", "enforce"]

_NOT_PAGES = """
7z apk avi avif bin bmp bz2 cab css deb dmg doc docx eot epub exe flac flv gif gz ico img iso jar jpeg jpg js json m4a m4v mkv mov mp3 mp4
mpeg mpg msi odp ods odt ogg ogv otf pdf png ppt pptx psd rar rpm rss svg swf tar tgz tif tiff ttf wav webm webp wma wmv woff woff2 xls xlsx
xz zip zst
"""
_ANNOUNCED = """
application/json application/json+* application/*+json application/rss+xml application/atom+xml application/rdf+xml application/rsd+xml
application/xml text/xml text/xml+* text/calendar text/vcard text/x-opml application/opensearchdescription+xml application/wlwmanifest+xml
application/pdf application/zip application/gzip application/epub+zip application/octet-stream
"""


class IdentitySettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    agent: str = "thresher"  # product token: sent in User-Agent, matched in robots.txt
    contact: str = ""  # URL or e-mail address of who runs this crawl; required
    from_header: str = ""  # e-mail address for the From header, "" for none

    def user_agent(self, version: str) -> str:
        """Return the User-Agent header: `agent/version (+contact)`."""
        return f"{self.agent}/{version} (+{self.contact})"


class DangerSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    links: list[str] = field(default_factory=lambda: list(DANGEROUS))  # patterns (filters/danger.py) of links that change something
    manuals: list[str] = field(default_factory=lambda: list(MANUALS))  # directories under which a path is a title
    titles: list[str] = field(default_factory=lambda: list(TITLES))  # directories under which a path of one plain name is a title
    harmless: list[str] = field(default_factory=list)  # RE2, searched in the URL; such links are followed nevertheless


class ScopeSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    type: Literal["page", "prefix", "host", "domain", "any"] = "host"
    include: list[str] = field(default_factory=list)  # RE2, searched in the URL; adds to the scope
    exclude: list[str] = field(default_factory=list)  # RE2; wins over everything
    schemes: list[Literal["http", "https"]] = field(default_factory=lambda: ["http", "https"])
    danger: DangerSettings = field(default_factory=DangerSettings)


class LimitSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    max_pages: Positive | None = None
    max_bytes: Bytes | None = None  # wire bytes received
    max_time: Seconds | None = None
    max_depth: Count | None = None  # clicks from a seed
    max_wait: Seconds = 600.0  # the crawl ends when nothing is due within this time
    max_pages_per_host: Positive | None = 10_000
    max_pages_per_site: Positive | None = None
    max_bytes_per_host: Bytes | None = None
    max_hosts_per_site: Positive = 1_000
    max_links_per_page: Positive = 10_000
    max_url_length: Positive = 2_048
    max_redirects: Count = 5
    max_sitemaps_per_host: Count = 100  # sitemaps and feeds requested of one host
    max_sitemap_size: Bytes = 50 << 20  # decoded
    max_sitemap_urls: Positive = 50_000
    max_announced_per_host: Positive = 100_000  # URLs that sitemaps may make known
    max_error_rate: Share = 0.5  # exit 4 above this share of failed fetches
    min_free_disk: Annotated[int, Meta(ge=0, le=_MOST, extra={"unit": "bytes"})] = 1 << 30  # bytes; admission pauses below


class Override(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options for one domain (with its subdomains), URL prefix or SURT prefix. In a file they stand beside `match`, in their sections."""

    match: str  # "example.org", "https://example.org/docs/" or "org,example)/docs"
    skip: bool = False  # never fetch what matches
    options: dict[str, Any] = field(default_factory=dict)  # dotted key ("politeness.min_delay") → value; config/override.py says which

    @property
    def rule(self) -> str:
        """What it covers: a domain, or the beginning of a URL, "//" for either scheme."""
        return from_surt(self.match)


class PolitenessSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    min_delay: Seconds = 1.0  # from the end of a response to the next request at the host
    delay_factor: Factor = 10.0  # times the time the last response took
    max_delay: Seconds = 60.0  # bounds min_delay and delay_factor, not Crawl-delay
    respect_crawl_delay: bool = True
    max_crawl_delay: Seconds = 300.0  # a host that asks for more is not crawled
    jitter: Share = 0.1  # each gap is stretched by up to this share, never shortened
    address_connections: Positive = 4
    address_delay: Seconds = 0.2
    site_connections: Positive = 10
    retry_after_max: Seconds = 86_400.0
    backoff_initial: Seconds = 60.0  # after 429 or 503 without Retry-After; doubles
    backoff_max: Seconds = 86_400.0
    backoff_forgive: Seconds = 1_800.0  # a host without a new 429 or 503 for so long begins with backoff_initial again
    dead_after: Positive = 10  # failures in a row that park a host
    dead_wait: Seconds = 3_600.0


class OwnSiteSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options for the seeds' own addresses, with `profile: own-site`."""

    delay: Seconds = 0.0  # in place of politeness.min_delay
    pinned: dict[str, str] = field(default_factory=dict)  # "host:port" → addresses; written when a crawl starts, kept by a resume


class RobotsSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    obey: bool = True
    cache_ttl: Seconds = 86_400.0
    error_ttl: Seconds = 300.0  # first recheck of an unreachable robots.txt; doubles to cache_ttl
    timeout: Timeout = 20.0
    max_bytes: Bytes = 512_000
    on_403: Literal["allow", "disallow"] = "allow"
    meta: bool = True  # obey <meta name=robots> nofollow
    x_robots_tag: bool = True
    nofollow_links: bool = False  # follow links marked rel=nofollow


class FetchSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    concurrency: Positive = 256
    connect_timeout: Timeout = 10.0
    first_byte_timeout: Timeout = 20.0
    read_timeout: Timeout = 15.0
    total_timeout: Timeout = 60.0
    min_rate: Count = 1024  # bytes per second, averaged after 10 s
    max_body: Bytes = 10 << 20  # decoded and wire
    accept_types: list[str] = field(default_factory=lambda: ["text/html", "application/xhtml+xml", "text/plain"])
    allow_addresses: list[str] = field(default_factory=list)  # CIDRs exempt from the address guard
    allow_ports: list[Port] | Literal["any"] = field(default_factory=lambda: [80, 443])
    headers: dict[str, str] = field(default_factory=dict)
    ca_file: str = ""  # PEM file of further certificate authorities
    client: Literal["lean", "aiohttp"] = "lean"
    credentials: str = ""  # file of secrets by origin, mode 0600 (crawler/fetch/credentials.py)
    cookies: Literal["off", "chain"] = "off"  # chain: a cookie is sent back within the chain of redirects that set it, and then forgotten
    proxy: str = ""  # http://host:port or socks5://host:port
    bind: list[str] = field(default_factory=list)  # addresses of this machine, at most one of each family


class DnsSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    servers: list[str] = field(default_factory=list)  # "address" or "address:port"; empty: the system's
    static: dict[str, str] = field(default_factory=dict)  # name or ".suffix" → address; "#" after a suffix's address spreads by hash
    timeout: Timeout = 5.0
    max_in_flight: Positive = 64
    min_ttl: Seconds = 60.0
    max_ttl: Seconds = 3_600.0
    negative_ttl: Seconds = 600.0
    max_addresses: Positive = 4


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    scale: Annotated[float, Meta(gt=0, le=1e6)] = 1.0  # multiplies every wait of the retry table
    max_tries: Positive = 4  # bounds every entry of the table


class UrlSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    max_path_segments: Positive = 64
    strip_params: list[str] = field(default_factory=list)  # query parameters dropped from every URL; "utm_*" is a prefix


class ParseSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    isolate_above: Bytes = 512 << 10  # bytes; larger pages go to the parser process
    timeout: Timeout = 2.0
    memory: Annotated[int, Meta(ge=64 << 20, le=_MOST, extra={"unit": "bytes"})] = 768 << 20  # bytes of address space of the parser process
    recycle_after: Positive = 5_000
    processes: Positive = 1
    documents: bool = False  # read PDF and office documents, too


class FrontierSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    workbench: Count = 0  # hosts held in memory; 0: 11 × fetch.concurrency
    heads: Positive = 16  # URLs of a host held in memory
    announced_share: Share = 0.05  # share of a host's requests for URLs that only sitemaps named, while linked URLs wait
    order: Literal["breadth_first", "opic", "host_rank", "larger_sites_first", "fifo"] = "breadth_first"


class PathTrapSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    max_segment_repeats: Positive = 3
    max_segments: Positive = 20
    max_params: Positive = 20
    max_per_prefix: Positive = 5_000  # answers without anything new that one shape of URL may give
    max_calendar: Positive = 200  # the same for one calendar: URLs that differ only in a date


class MediaSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    max_declared_size: Bytes = 64 << 20
    skip_extensions: list[str] = field(default_factory=_NOT_PAGES.split)  # extensions of the URL's path, without the dot
    skip_announced: list[str] = field(default_factory=_ANNOUNCED.split)  # media types in a link's `type`; * for any letters


class ExactDuplicateSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    min_tokens: Count = 20  # shorter texts are never called copies
    store_copies: bool = False  # keep the body of a copy too
    max_links: Count = 50  # new links per kind of URL followed from copies that led to copies only; ten kinds per site


class PatternYieldSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    barren: Positive = 8  # a pattern is held after so many fetches in a row with nothing new, of some fewer; compared after as many
    release_yield: Annotated[float, Meta(gt=0, lt=1)] = 0.3  # a held pattern is released when samples show this yield (lower bound)


class DepthCutoffSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    target: Annotated[float, Meta(gt=0, lt=1)] = 0.9  # share of a surfer's page views that the crawl shall cover
    floor: Count = 3  # clicks from the site's entry up to which nothing is cut for its depth
    ceiling: Positive | None = None  # clicks from the site's entry beyond which everything is cut
    q: Annotated[float, Meta(gt=0, lt=1)] | None = None  # probability that a visitor goes one level deeper, of `thresher depth fit`


class SoftErrorSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    threshold: Annotated[float, Meta(ge=-10, le=20)] = 3.0  # score of a redirect, log10 units, from which it is a soft error
    max_probes: Count = 20  # probes per host and day: with a made-up name (at most two in a directory), or with the name left out
    give_up_after: Positive = 20  # soft errors for each good page after which links into a directory are no longer followed


class NearReplicaSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    min_tokens: Count = 50  # shorter texts are never called replicas
    max_distance: Annotated[float, Meta(gt=0, le=1)] = 0.3  # D: texts, exclusive; those that resemble by .8 are never further apart
    max_neighbour_distance: Annotated[float, Meta(gt=0, le=10)] = 0.03  # C: largest distance of neighbourhoods, exclusive
    resemblance: Share = 0.8  # least share of common five-word shingles for a page to be reported as a replica
    drop_resemblance: Annotated[float, Meta(ge=0, lt=1)] = 0.9  # the same, with 95 % confidence, for a page to count as nothing new
    store_replicas: bool = True  # keep the document of a replica too
    max_links: Count = 50  # new links per kind of URL followed from replicas that led to replicas only; ten kinds per site
    mirror_share: Annotated[float, Meta(gt=0, le=1)] = 0.8  # share of a host's pages that replicate another host's at the same paths
    mirrors: Literal["keep", "hold", "drop"] = "hold"


class DustSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    first_mining: Positive = 100  # pages of a site after which its URLs are mined for the first time; later, whenever the list has grown
    max_urls: Positive = 10_000  # pages of a site that are remembered for mining
    max_rules: Positive = 100  # likely rules of a site that are judged
    validations: Count = 500  # canonical URLs of each site that are requested to validate rules
    validation_share: Share = 1.0  # useless validations, as a share of the fetches that undecided rules would have saved


class CanarySettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: FilterMode = "enforce"
    share: Share = 0.01  # share of a host's requests that may be canaries, if it is not behind a wall; twice that for URLs never seen there
    floor: Count = 6  # canaries that each host may have in addition to the share, one for every 20 kept pages


class FilterSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    audit_share: Share = 0.01  # share of the URLs that a filter would skip that is fetched nevertheless, to measure the filter
    tail_yield: Share = 0.02  # held URLs are fetched until less than this share of them is new; 0: fetch all, 1: none
    tail_share: Annotated[float, Meta(ge=0)] = 0.1  # useless fetches of held URLs, for each useful fetch of the host
    site_bytes: Bytes = 4 << 20  # memory of one filter for one site
    path_trap: PathTrapSettings = field(default_factory=PathTrapSettings)
    media: MediaSettings = field(default_factory=MediaSettings)
    exact_duplicate: ExactDuplicateSettings = field(default_factory=ExactDuplicateSettings)
    soft_error: SoftErrorSettings = field(default_factory=SoftErrorSettings)
    pattern_yield: PatternYieldSettings = field(default_factory=PatternYieldSettings)
    depth_cutoff: DepthCutoffSettings = field(default_factory=DepthCutoffSettings)
    near_replica: NearReplicaSettings = field(default_factory=NearReplicaSettings)
    dust: DustSettings = field(default_factory=DustSettings)
    canary: CanarySettings = field(default_factory=CanarySettings)


class StoreSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    bodies: bool = True
    compression_level: Annotated[int, Meta(ge=-7, le=19)] = 1  # zstd
    map_size: Annotated[int, Meta(ge=1 << 20, le=_MOST, extra={"unit": "bytes"})] = 1 << 36  # address space to start with; grows by itself
    commit_interval: Seconds = 0.25
    commit_visits: Positive = 128
    commit_bytes: Bytes = 4 << 20
    skip_sample: Count = 100  # skips written per host and reason before sampling sets in
    versions: Positive | Literal["all"] = 1  # versions of a page that are kept, with the newest


class SnapshotSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    target: str = ""  # a folder, or a URL of fsspec
    every: Annotated[float, Meta(ge=1, le=1e9, extra={"unit": "seconds"})] = 3600.0
    keep: Positive = 24
    lost_after: Seconds | None = None  # with `engine: ray`: a machine that is away for so long is given up


class RecrawlSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    audit_share: Share = 0.02  # share of the 304s that are requested again without conditions, to see whether they are true
    min_change: Share = 0.02  # share of the text: a smaller change must be seen twice
    park: bool = True  # a host that loses many pages at once is parked until the operator decides
    policy: Literal["harmonic", "uniform", "age_optimal", "fresh"] = (
        "harmonic"  # how `schedule: continuous` shares a host's visits among its pages
    )
    min_interval: Annotated[float, Meta(ge=1, le=1e9, extra={"unit": "seconds"})] = 3_600.0  # between two visits of a page
    max_interval: Annotated[float, Meta(ge=1, le=1e9, extra={"unit": "seconds"})] = 30 * 86_400.0
    visits_per_day: Annotated[float, Meta(ge=0, le=1e9)] = 0.0  # of a host, on average, with bursts; 0: as many as politeness allows
    refresh_share: Share = 0.5  # share of a host's requests for due visits, while new URLs wait


class ArchiveSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    format: Literal["off", "warc"] = "off"  # warc: every request and answer as it was on the wire, in DIR/archive
    max_file: Annotated[int, Meta(ge=1 << 20, le=_MOST, extra={"unit": "bytes"})] = 1 << 30  # a record that is larger has a file of its own
    dedup: list[str] = field(default_factory=list)  # CDXJ or WARC files, or folders of earlier crawls; their bodies are not written again
    requisites: bool = False  # fetch requisites of pages: images, styles, scripts, fonts, media
    max_imports: Annotated[int, Meta(ge=0, le=MOST_IMPORTS)] = 3  # style sheets in a row, each imported by the one before
    max_requisites_per_page: Positive = 1_000  # requisites of one page or style sheet
    max_requisites_per_host: Positive = 100_000  # requisites of a host queue


class LogSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    requests: str = ""  # file: one line per request; "" for none
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole configuration of a crawl."""

    profile: Literal["web", "own-site"] = "web"
    agents: Positive | Literal["auto"] = 1
    engine: Literal["processes", "ray"] = "processes"  # ray: agents on every machine of a cluster
    seeds: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)  # seed → its label in exports
    schedule: Literal["once", "continuous"] = "once"  # continuous: the crawl does not end; each page has the time of its next visit
    sitemaps: Literal["off", "robots"] = "robots"
    ai_preferences: Literal["given", "record", "obey"] = "given"
    feeds: bool = False  # read RSS and Atom as sitemaps, also if a page names one
    identity: IdentitySettings = field(default_factory=IdentitySettings)
    scope: ScopeSettings = field(default_factory=ScopeSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    frontier: FrontierSettings = field(default_factory=FrontierSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    own_site: OwnSiteSettings = field(default_factory=OwnSiteSettings)
    robots: RobotsSettings = field(default_factory=RobotsSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    dns: DnsSettings = field(default_factory=DnsSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    url: UrlSettings = field(default_factory=UrlSettings)
    parse: ParseSettings = field(default_factory=ParseSettings)
    filters: FilterSettings = field(default_factory=FilterSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    snapshots: SnapshotSettings = field(default_factory=SnapshotSettings)
    recrawl: RecrawlSettings = field(default_factory=RecrawlSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    log: LogSettings = field(default_factory=LogSettings)
    overrides: list[Override] = field(default_factory=list)
