// Colly over a list of seeds, links only: peer SEEDS CONCURRENCY.
package main

import (
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	c := colly.NewCollector(colly.Async(true), colly.UserAgent("thresher-bench-peer (+https://example.org/bench)"))
	c.IgnoreRobotsTxt = false
	c.DisableCookies()
	c.WithTransport(&http.Transport{
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		MaxIdleConns:        10000,
		MaxIdleConnsPerHost: n,
		IdleConnTimeout:     90 * time.Second,
	})
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: n}); err != nil {
		panic(err)
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) })
	for _, seed := range strings.Fields(string(text)) {
		_ = c.Visit(seed)
	}
	c.Wait()
}
