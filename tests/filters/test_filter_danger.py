"""Danger: links that do something are refused, as real software writes them, and no page about such a thing is."""

import pytest
from subjects import refusal

from thresher.config.settings import DangerSettings, ScopeSettings
from thresher.crawler.core.model import Reason
from thresher.filters.base import LinkColumns
from thresher.filters.danger import Danger, compiled
from thresher.filters.scope import ScopeFilter

HOSTILE = {
    "logging out": """
        /logout /Account/LogOut.aspx /user/logout?token=abc /users/sign_out /logout.php?next=%2F
        /wp-login.php?action=logout&_wpnonce=1f2e3d /ucp.php?mode=logout&sid=0a1b /login.php?do=logout&logouthash=17-a
        /index.php?action=logout;sesc=0f3c /entry/signout/XYZ /?logintype=logout /index.php?option=com_users&task=user.logout
        /index.php?route=account/logout /login.php?action=out&id=2 /logout;jsessionid=0A1B /wiki/Special:UserLogout
        /w/index.php?title=Special:UserLogout&returnto=Main /index.php?title=Special%3AUserLogout /?do=logout&sectok=
    """,
    "MediaWiki": """
        /index.php?title=A&action=edit /index.php?title=A&action=edit&redlink=1 /index.php?title=A&action=delete
        /w/index.php?action=protect&title=A /index.php?title=A&action=rollback&from=B&token=%2B%5C /index.php?title=A&action=watch
        /index.php?title=A&veaction=edit /index.php?title=A&action=purge /index.php?title=A&action=markpatrolled&rcid=5
    """,
    "DokuWiki and other wikis": """
        /doku.php?id=start&do=edit&rev=0 /doku.php?id=a:b&do=draftdel /start?do=edit /doku.php?id=a&do=subscribe&sectok=abc
        /ikiwiki.cgi?do=create&page=a /Page?action=AttachFile&do=del&target=x /PmWiki/HomePage?action=edit
        /xwiki/bin/delete/Main/Page?xpage=inline /foswiki/bin/edit/Main/WebHome /gollum/delete/Home /pages/removepage.action?pageId=123
        /Delete.jsp?page=Main /Page?action=DeletePage
    """,
    "WordPress and Plone": """
        /wp-admin/post.php?post=5&action=trash /wp-admin/comment.php?action=deletecomment&c=5 /2024/05/a/?like_comment=7&_wpnonce=a1
        /page/object_cut?_authenticator=1 /page/content_status_modify?workflow_action=retract /2024/05/a/?share=twitter&nb=1
        /wp-cron.php?doing_wp_cron
    """,
    "shops": """
        /?add-to-cart=42 /shop/?add_to_wishlist=42&_wpnonce=1 /product/42/add-to-cart /product/blue-shirt/add-to-cart
        /cart/add/p12_q1?destination=node /checkout/cart/add/uenc/aHR0cA/product/5/ /index.php?route=checkout/cart/add&product_id=40
        /product_info.php?products_id=1&action=buy_now /cart/?remove_item=0f1e&_wpnonce=1 /cart?add=1&id_product=2
        /wishlist/index/add/product/12/ /catalog/product_compare/add/product/9/uenc/a/ /add-to-cart/5 /addtocart.php?id=5
    """,
    "votes": """
        /vote?id=4711&how=up&auth=0f&goto=news /posts/123/upvote /questions/17/vote-up /vote/up/17 /idea/17/vote/down
        /poll.php?vote=up&id=3 /post/9/like /comments/17/dislike /index.php?action=vote&id=3 /item/5/rate/4 /topic/12/upvote
    """,
    "subscriptions": """
        /unsubscribe?token=abc /subscribe/123 /lists/?p=unsubscribe&uid=1 /mailman/confirm/list/0a1b2c3d /email/unsubscribe/0af31
        /viewtopic.php?f=1&t=2&watch=topic&start=0&hash=ab /subscription.php?do=addsubscription&t=5 /misc.php?action=subscribe&tid=2
        /threads/x.1/watch /MailList?action=subscribe /sympa/auto_signoff?list=a /channel/12/follow /flag/flag/bookmarks/5?destination=a
        /viewtopic.php?t=2&bookmark=1&hash=ab /user/repo/action/star?redirect_to=%2F
    """,
    "marking as read": """
        /index.php?mark=forums&hash=0f /viewforum.php?hash=ab&f=2&mark=topics&mark_time=17 /index.php?action=markasread;sa=all
        /forumdisplay.php?do=markread&f=2 /forums/-/mark-read?date=17 /forum/?do=markRead&csrfKey=1f
        /misc.php?action=markread&my_post_key=1
    """,
    "deleting": """
        /comment/15/delete /delete/15 /delete.php?id=15 /x?action=delete&id=1 /remove/0a1b2c3d4e /del_entry.php?id=1&series=0
        /?delete=12 /index.php?tx_news[action]=delete /index.php?tx_news%5Baction%5D=delete /admin?cmd=delete&file=5
        /bug_delete.php?bug_id=7
    """,
    "tokens": """
        /reset-password?token=aaa /password/reset/0af3c5b2d1e4 /users/confirmation?confirmation_token=x /a?access_token=x
        /feed?api_key=17 /activate/0f1e2d3c4b5a /mod/forum/markposts.php?f=1&sesskey=Ab1 /a?x=1&sectok=0af
    """,
    "machines": """
        /job/main/build?delay=0sec /sql.php?db=a&sql_query=DROP /reboot.cgi /cm?cmnd=Power%20TOGGLE /relay/0?turn=on
        /adclick.php?bannerid=4
    """,
}
HONEST = {
    "titles in a wiki": """
        /wiki/Logout /wiki/Delete_key /wiki/Special:RecentChanges /wiki/Unsubscribe /index.php?title=Delete
        /index.php?title=Logout&action=history /index.php?title=A&action=info /doku.php?id=logout /doku.php?id=delete&do=revisions
        /wiki/Delete?oldid=12 /index.php?title=Edit&oldid=5 /w/Signout
    """,
    "manuals": """
        /docs/logout /docs/delete/ /docs/16/sql-delete.html /docs/16/delete /reference/commands/remove /sql-delete.html
        /man/logout.1.html /en/docs/Web/HTTP/Methods/DELETE /api-docs/users/42/delete /help/add-to-cart /logout.html /guide/cart/add
        /man?cmd=delete /docs/delete?version=8
    """,
    "titles of a blog": """
        /2024/05/logout /2024/05/delete /2024/05/12/upvote /blog/logout /news/unsubscribe /articles/delete /logout-design.html
        /how-to-log-out /2024/delete /posts/why-we-delete /articles/42/delete-key /blog/add-to-cart
    """,
    "searches": """
        /?q=how+to+delete /search?q=logout /search/logout /tag/logout /?s=unsubscribe /search?query=action%3Ddelete /tags/vote-up
    """,
    "votes that are told of": """
        /vote/results /votes/2024 /vote /votes?vote=512 /parliament/bills/12/votes /poll/results.php?id=3 /ratings?vote=yes
        /bills/42/vote
    """,
    "shops": """
        /cart /products/cart /product/delete-key-cap /shop/shopping-cart-42 /category/carts?page=2 /products?rating=5 /wishlist
        /product/add-to-cart-plugin
    """,
    "source files": """
        /r.git/tree/src/logout.php /repo/blob/main/auth/logout.php /viewvc/trunk/delete.php?id=12 /r/plain/wp-login.php?h=main
        /p/log/logout.php /gitweb/?p=r.git;a=blob;f=delete.php;h=12 /src/branch/main/signout.py /browser/unsubscribe.php?rev=9
    """,
    "packages and words": """
        /package/logout /packages/sid/remove /dictionary/unsubscribe /word/delete /pool/main/l/logout/ /define/vote-up
        /man1/logout.1.html
    """,
    "people and topics": """
        /people/mark-read /author/mark-read /t/logout/4711 /questions/11/how-to-delete-a-branch /topic/12/unsubscribe-me
        /threads/logout.12/ /questions/8/delete-or-remove
    """,
    "videos, calendars, forms to read": """
        /index.php?action=watch&id=5 /watch?v=delete /calendar?mode=month /events?action=view&id=5 /?action=search&q=a
        /thread?mode=linear&t=5 /viewtopic.php?f=1&t=2&view=unread /subscribe /unsubscribe /vote.html /index.php?page=logout
        /doku.php?do=index&id=a
    """,
    "names that only begin so": """
        /deleted/5 /removed?id=delete-me /logouts /likes/5 /subscriber/12 /voted/up /addresses/12 /cartography/add-ons /item?delete=no
        /a?logout_time=5 /a?mark=12 /tokens/api_key /a?share=12 /a?tokens=x /editor?action=editors
    """,
}


def refusals(urls: str, *, origin: str = "https://www.a.example", **listed: list[str]) -> dict[str, Reason | None]:
    rule = ScopeFilter(ScopeSettings(type="any", danger=DangerSettings(**listed)), [], ["https://www.a.example/"])
    return {path: refusal(rule, origin + path) for path in urls.split()}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_link_that_does_something_is_refused(kind: str) -> None:
    """S49."""
    assert [path for path, reason in refusals(HOSTILE[kind]).items() if reason is not Reason.UNSAFE] == []


@pytest.mark.parametrize("kind", HONEST)
def test_a_page_about_such_a_thing_is_not(kind: str) -> None:
    assert [path for path, reason in refusals(HONEST[kind]).items() if reason is not None] == []


def test_each_of_many_links_is_judged_as_it_is_alone() -> None:
    """Mutation: searching on behind what was found, which may reach over several links, loses some."""
    rule = ScopeFilter(ScopeSettings(type="any"), [], ["https://www.a.example/"])
    paths = [path for listed in (*HOSTILE.values(), *HONEST.values()) for path in listed.split()]
    texts = ["https://www.a.example/?title=x", *(f"https://www.a.example{path}" for path in paths), "https://www.a.example/wiki/x:logout"]
    links = LinkColumns(texts, ["https://www.a.example"] * len(texts), ["a.example"] * len(texts))
    assert [rule.refuses(links).get(i) for i in range(len(texts))] == [refusal(rule, text) for text in texts]


def test_a_host_of_manuals_has_titles_and_no_actions() -> None:
    assert refusals("/logout /v2/users/42/delete", origin="https://docs.a.example") == {"/logout": None, "/v2/users/42/delete": None}
    assert refusals("/logout", origin="https://docs.example") == {"/logout": Reason.UNSAFE}, "the site's own name says nothing"


def test_the_list_is_the_operators() -> None:
    assert refusals("/logout /launch/missiles", links=["/launch/*"]) == {"/logout": None, "/launch/missiles": Reason.UNSAFE}
    assert refusals("/logout", links=[]) == {"/logout": None}
    assert refusals("/logout /en/logout", harmless=["example/logout$"]) == {"/logout": None, "/en/logout": Reason.UNSAFE}
    assert refusals("/akten/logout", manuals=["akten"]) == {"/akten/logout": None}


@pytest.mark.parametrize(
    ("pattern", "hits", "misses"),
    [
        ("/a/b", "/a/b /x/a/b/ /a/b.php /A/B?x=1 /a/b;s=1", "/a/b/c /a/bc /b /a/b.html /xa/b"),
        ("/a/**", "/a /a/b/c /x/a/b", "/ab/c"),
        ("/#/x", "/12/x /0a1b2c3d/x /3f2a-11ee-0a1b/x /Ab1Cd2Ef3Gh4/x", "/a/x /page/x /understanding/x /deadbeef/x"),
        ("?a|b=c|d", "/?a=c /z?y=1&b=D /z?y;b=d", "/?a /?a=cc /?xa=c /?a=c%20d"),
        ("?a&b=*", "/?b=1&a /?a=5;b=x", "/?a /?b=1 /?a=1&b="),
        ("/s?x=*", "/r/s?x=1 /s.cgi?y=1&x=2", "/s /r?x=1 /s?x="),
        ("?a=x:*", "/?a=x:y /?a=x%3Ay", "/?a=xy"),
    ],
)
def test_what_a_pattern_means(pattern: str, hits: str, misses: str) -> None:
    assert {*refusals(hits, links=[pattern]).values()} == {Reason.UNSAFE}
    assert {*refusals(misses, links=[pattern]).values()} == {None}


@pytest.mark.parametrize("text", ["", "logout", "?", "/"])
def test_a_pattern_that_names_nothing_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="expected a pattern like"):
        compiled(text)


def test_a_search_for_all_links_names_the_places_of_those_that_it_finds() -> None:
    """Mutation: the ends of links were counted with the name of their host, which is not searched: the search never ended."""
    links = ["http://a.example/wiki/a", "http://a.example/b?of=http://a.example/c", "http://b.example/logout", "http://a.example/d"]
    assert Danger(DangerSettings()).suspects([*links, "http://a.example/logout"]) == [2, 4]
    assert Danger(DangerSettings()).suspects([]) == []
